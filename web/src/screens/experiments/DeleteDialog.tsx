// Asks before an experiment is deleted.
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { useNotices } from "../../components/Notices";
import { ErrorNotice } from "../../components/States";
import { visible } from "../../text/visible";
import { useDelete } from "./queries";

interface Props {
  /** Null: the dialog is closed. */
  experiment: { id: string; name: string } | null;
  onClose: () => void;
  onDeleted?: () => void;
}

export function DeleteDialog({ experiment, onClose, onDeleted }: Props) {
  const deleting = useDelete();
  const { tell } = useNotices();
  const close = () => {
    deleting.reset();
    onClose();
  };
  const remove = async () => {
    if (!experiment) return;
    const done = await deleting.mutateAsync(experiment.id).then(
      () => true,
      () => false,
    );
    if (!done) return;
    tell({ kind: "good", text: "The experiment was deleted." });
    close();
    onDeleted?.();
  };
  return (
    <Dialog
      title="Delete this experiment?"
      alert
      isOpen={experiment !== null}
      onOpenChange={(open) => !open && close()}
      actions={
        <>
          <Button onPress={close}>Cancel</Button>
          <Button kind="danger" isDisabled={deleting.isPending} onPress={() => void remove()}>
            Delete
          </Button>
        </>
      }
    >
      <p>
        <strong>{visible(experiment?.name ?? "")}</strong> with its versions, runs and evaluations.
        The recorded spans stay. This cannot be undone.
      </p>
      {deleting.isError && (
        <ErrorNotice what="The experiment could not be deleted" error={deleting.error} />
      )}
    </Dialog>
  );
}
