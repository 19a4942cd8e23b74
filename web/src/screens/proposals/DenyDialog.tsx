// Asks for the reason of a denial, which the model receives.
import { useState } from "react";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { ErrorNotice } from "../../components/States";
import { TextField } from "../../components/TextField";

interface Props {
  isOpen: boolean;
  what: string;
  isBusy: boolean;
  error: unknown;
  onClose: () => void;
  onDeny: (words: string) => void;
}

export function DenyDialog({ isOpen, what, isBusy, error, onClose, onDeny }: Props) {
  const [words, setWords] = useState("");
  const deny = () => onDeny(words.trim());
  return (
    <Dialog
      title={`Deny ${what}?`}
      isOpen={isOpen}
      onOpenChange={(open) => !open && onClose()}
      actions={
        <>
          <Button onPress={onClose}>Cancel</Button>
          <Button kind="danger" isDisabled={isBusy} onPress={deny}>
            Deny
          </Button>
        </>
      }
    >
      <TextField
        label="Reason (sent to the model while its turn runs)"
        value={words}
        onChange={setWords}
        autoFocus
        rows={3}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !isBusy) deny();
        }}
      />
      {error != null && <ErrorNotice what="The proposal could not be denied" error={error} />}
    </Dialog>
  );
}
