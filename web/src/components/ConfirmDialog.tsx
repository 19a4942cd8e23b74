// Asks before something is done that cannot be taken back, and says why it could not be done.
import type { ReactNode } from "react";
import { Button } from "./Button";
import { Dialog } from "./Dialog";
import { ErrorNotice } from "./States";

interface Props {
  title: string;
  isOpen: boolean;
  onClose: () => void;
  /** What is done: the word on the button. */
  act: string;
  onAct: () => void;
  isBusy?: boolean;
  error?: unknown;
  children: ReactNode;
}

export function ConfirmDialog(props: Props) {
  const { title, isOpen, onClose, act, onAct, isBusy = false, error, children } = props;
  return (
    <Dialog
      title={title}
      alert
      isOpen={isOpen}
      onOpenChange={(open) => !open && onClose()}
      actions={
        <>
          <Button onPress={onClose}>Cancel</Button>
          <Button kind="danger" isDisabled={isBusy} onPress={onAct}>
            {act}
          </Button>
        </>
      }
    >
      {children}
      {error != null && <ErrorNotice what="It was not done" error={error} />}
    </Dialog>
  );
}
