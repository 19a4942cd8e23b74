// Accepts an API key. It goes to the server at once and is not kept in the page.
import { useState } from "react";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { useNotices } from "../../components/Notices";
import { ErrorNotice } from "../../components/States";
import { TextField } from "../../components/TextField";
import type { useKey } from "./queries";

interface Props {
  name: string;
  isOpen: boolean;
  keys: ReturnType<typeof useKey>;
  onClose: () => void;
}

export function KeyDialog({ name, isOpen, keys, onClose }: Props) {
  return (
    <Dialog
      title={`API key of ${name}`}
      isOpen={isOpen}
      onOpenChange={(open) => !open && onClose()}
    >
      <KeyForm keys={keys} onDone={onClose} />
    </Dialog>
  );
}

function KeyForm({ keys, onDone }: { keys: Props["keys"]; onDone: () => void }) {
  const [key, setKey] = useState("");
  const { tell } = useNotices();
  const save = () => {
    let taken = key.trim();
    setKey("");
    const take = () => {
      const once = taken;
      taken = "";
      return once;
    };
    keys.mutate(
      { take },
      {
        onSuccess: () => {
          tell({ kind: "good", text: "The API key is saved. The next call uses it." });
          onDone();
        },
      },
    );
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (key.trim()) save();
      }}
    >
      <TextField
        label="API key"
        type="password"
        value={key}
        onChange={setKey}
        hint="The API key is saved on this machine, in the keyring if available, and is never shown again."
        autoFocus
      />
      <p>
        <Button kind="primary" type="submit" isDisabled={!key.trim() || keys.isPending}>
          Save
        </Button>
      </p>
      {keys.error && <ErrorNotice what="The API key could not be saved" error={keys.error} />}
    </form>
  );
}
