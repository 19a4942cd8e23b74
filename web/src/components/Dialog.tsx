// A modal dialog: it keeps the focus, and Escape closes it.
import type { ReactNode } from "react";
import { Dialog as AriaDialog, Heading, Modal, ModalOverlay } from "react-aria-components";
import { Button } from "./Button";
import styles from "./Dialog.module.css";

interface Props {
  title: string;
  isOpen: boolean;
  onOpenChange: (open: boolean) => void;
  children: ReactNode;
  /** The buttons at the bottom. */
  actions?: ReactNode;
  alert?: boolean;
}

export function Dialog({ title, isOpen, onOpenChange, children, actions, alert = false }: Props) {
  return (
    <ModalOverlay
      className={styles.overlay ?? ""}
      isOpen={isOpen}
      onOpenChange={onOpenChange}
      isDismissable
    >
      <Modal className={styles.modal ?? ""}>
        <AriaDialog className={styles.dialog ?? ""} role={alert ? "alertdialog" : "dialog"}>
          <header className={styles.header}>
            <Heading slot="title">{title}</Heading>
            <Button kind="quiet" small aria-label="Close" onPress={() => onOpenChange(false)}>
              ✕
            </Button>
          </header>
          <div className={styles.content}>{children}</div>
          {actions && <footer className={styles.actions}>{actions}</footer>}
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  );
}
