// Asks before an action that cannot be undone, and reports why it failed.
import type { ReactNode } from "react";
import { Button } from "./Button";
import { Dialog } from "./Dialog";
import { ErrorNotice } from "./States";

interface Props {
  title: string;
  isOpen: boolean;
  onClose: () => void;
  /** The verb on the button. */
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
      {error != null && <ErrorNotice what="The action failed" error={error} />}
    </Dialog>
  );
}
