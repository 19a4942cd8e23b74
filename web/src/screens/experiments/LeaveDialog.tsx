// Asks before unsaved changes of a request are lost.
import { useBlocker } from "@tanstack/react-router";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import type { Editing } from "./useDraft";

export function LeaveDialog({ editing }: { editing: Editing }) {
  const { changed, problems, draft } = editing;
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) => changed && current.pathname !== next.pathname,
    enableBeforeUnload: changed,
    withResolver: true,
  });
  const stay = () => blocker.reset?.();
  const isSaveable = problems.length === 0 && draft.clash === null;
  return (
    <Dialog
      title="Leave unsaved changes?"
      alert
      isOpen={blocker.status === "blocked"}
      onOpenChange={(open) => !open && stay()}
      actions={
        <>
          <Button onPress={stay}>Stay</Button>
          <Button kind="danger" onPress={() => blocker.proceed?.()}>
            Discard and leave
          </Button>
          {isSaveable && (
            <Button
              kind="primary"
              onPress={async () => {
                if ((await editing.save("")) === null) stay();
                else blocker.proceed?.();
              }}
            >
              Save and leave
            </Button>
          )}
        </>
      }
    >
      <p>Your changes of this request are not saved as a version.</p>
    </Dialog>
  );
}
