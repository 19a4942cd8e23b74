// Deletes a thread after a confirmation that states what is lost.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { client, ok } from "../../api/client";
import type { ThreadSummary } from "../../api/schema";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { useNotices } from "../../components/Notices";
import { ErrorNotice } from "../../components/States";
import { counted } from "../../format/numbers";

interface Props {
  threadId: string;
  thread: ThreadSummary | undefined;
}

export function DeleteThread({ threadId, thread }: Props) {
  const [isOpen, open] = useState(false);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { tell } = useNotices();
  const deletion = useMutation({
    mutationFn: () => {
      const path = { thread_id: threadId };
      return ok(client.DELETE("/api/v1/threads/{thread_id}", { params: { path } }));
    },
    onSuccess: async (gone) => {
      tell({
        kind: "good",
        text: `Deleted ${counted(gone.spans, "span")}.`,
      });
      // Not refreshed at once: the screen that still shows the thread would request it and get a
      // 404.
      await queries.invalidateQueries({ refetchType: "none" });
      await navigate({ to: "/threads" });
    },
  });
  return (
    <>
      <Button kind="danger" small isDisabled={!thread} onPress={() => open(true)}>
        Delete…
      </Button>
      <Dialog
        title="Delete this thread?"
        alert
        isOpen={isOpen}
        onOpenChange={open}
        actions={
          <>
            <Button onPress={() => open(false)}>Cancel</Button>
            <Button kind="danger" isPending={deletion.isPending} onPress={() => deletion.mutate()}>
              Delete permanently
            </Button>
          </>
        }
      >
        {thread && (
          <p>
            {counted(thread.runs, "run")} with {counted(thread.sums.spans, "span")} will be deleted
            permanently, with their messages and attachments. Experiments keep their own copies.
          </p>
        )}
        {deletion.error && (
          <ErrorNotice what="The thread could not be deleted" error={deletion.error} />
        )}
      </Dialog>
    </>
  );
}
