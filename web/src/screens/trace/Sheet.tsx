// The detail of a span if there is no room next to the tree: it covers the tree from below.
import type { ReactNode } from "react";
import { Dialog, Modal, ModalOverlay } from "react-aria-components";
import { Button } from "../../components/Button";
import styles from "./Sheet.module.css";

interface Props {
  title: string;
  isOpen: boolean;
  onClose: () => void;
  children: ReactNode;
}

export function Sheet({ title, isOpen, onClose, children }: Props) {
  return (
    <ModalOverlay
      className={styles.overlay ?? ""}
      isOpen={isOpen}
      onOpenChange={(open) => !open && onClose()}
      isDismissable
    >
      <Modal className={styles.sheet ?? ""}>
        <Dialog className={styles.dialog ?? ""} aria-label={title}>
          <div className={styles.close}>
            <Button kind="quiet" small aria-label="Close" onPress={onClose}>
              ✕
            </Button>
          </div>
          {children}
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
