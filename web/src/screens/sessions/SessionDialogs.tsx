// Renaming and deleting a session.
import { useState } from "react";
import type { Session } from "../../api/schema";
import { Button } from "../../components/Button";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { Dialog } from "../../components/Dialog";
import { useNotices } from "../../components/Notices";
import { ErrorNotice } from "../../components/States";
import { TextField } from "../../components/TextField";
import { visible } from "../../text/visible";
import { useChange, useDelete } from "./queries";

interface Props {
  session: Session;
  isOpen: boolean;
  onClose: () => void;
}

export function RenameSession({ session, isOpen, onClose }: Props) {
  return (
    <Dialog title="Rename session" isOpen={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Renaming session={session} onClose={onClose} />
    </Dialog>
  );
}

function Renaming({ session, onClose }: Omit<Props, "isOpen">) {
  const change = useChange(session.id);
  const [title, setTitle] = useState(session.title);
  const isUsable = title.trim() !== "";
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (isUsable) change.mutate({ title: title.trim() }, { onSuccess: onClose });
      }}
    >
      <TextField
        label="Title"
        value={title}
        onChange={setTitle}
        problem={isUsable ? null : "Enter a title."}
        autoFocus
      />
      <p>
        <Button kind="primary" type="submit" isDisabled={!isUsable || change.isPending}>
          Rename
        </Button>
      </p>
      {change.error && <ErrorNotice what="The session could not be renamed" error={change.error} />}
    </form>
  );
}

export function DeleteSession({
  session,
  isOpen,
  onClose,
  onDeleted,
}: Props & { onDeleted: () => Promise<void> }) {
  const { tell } = useNotices();
  const deletion = useDelete(session.id, () => {
    tell({ kind: "good", text: "The session was deleted." });
    return onDeleted();
  });
  return (
    <ConfirmDialog
      title="Delete this session?"
      isOpen={isOpen}
      onClose={onClose}
      act="Delete"
      onAct={() => deletion.mutate()}
      isBusy={deletion.isPending}
      error={deletion.error}
    >
      <p>
        <strong>{visible(session.title)}</strong> with all its branches. Its traces and proposals
        are kept. This cannot be undone.
      </p>
    </ConfirmDialog>
  );
}
