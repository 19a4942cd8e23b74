// What can be done with a run.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { client, ok } from "../../api/client";
import type { RunSummary } from "../../api/schema";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { Dialog } from "../../components/Dialog";
import { Menu } from "../../components/Menu";
import { useNotices } from "../../components/Notices";
import { Snippet } from "../../components/Snippet";
import { useCopy } from "../../components/useCopy";
import { bytes, counted } from "../../format/numbers";
import { exportCommand } from "./exportCommand";
import styles from "./RunActions.module.css";
import { useAskAnalyst } from "./useAskAnalyst";

interface Props {
  run: RunSummary;
  /** After it was deleted, and everything that was read is held to be old: leave it. */
  onGone: () => Promise<void> | void;
}

export function RunActions({ run, onGone }: Props) {
  const [shown, show] = useState<"export" | "delete" | null>(null);
  const copy = useCopy();
  const ask = useAskAnalyst();
  const link = `${location.origin}/runs/${encodeURIComponent(run.run_id)}`;
  return (
    <>
      <Menu
        label="Actions"
        actions={[
          { id: "ask", name: "Ask the analyst about it", run: ask, keys: "a" },
          { id: "link", name: "Copy the link", run: () => void copy(link) },
          { id: "id", name: "Copy the id", run: () => void copy(run.run_id) },
          { id: "export", name: "Export…", run: () => show("export") },
          { id: "delete", name: "Delete…", run: () => show("delete"), danger: true },
        ]}
      />
      <Dialog title="Export this run" isOpen={shown === "export"} onOpenChange={() => show(null)}>
        <p className={styles.words}>
          This writes all its spans with all that they hold, one a line; the second is what tools of
          OpenTelemetry read. <code>treadle traces import</code> takes both in again.
        </p>
        <Snippet text={exportCommand(run.run_id)} />
      </Dialog>
      {shown === "delete" && <DeleteRun run={run} onGone={onGone} onClose={() => show(null)} />}
    </>
  );
}

interface DeleteProps {
  run: RunSummary;
  onGone: () => Promise<void> | void;
  onClose: () => void;
}

function DeleteRun({ run, onGone, onClose }: DeleteProps) {
  const queries = useQueryClient();
  const { tell } = useNotices();
  const deletion = useMutation({
    mutationFn: () => {
      const path = { run_id: run.run_id };
      return ok(client.DELETE("/api/v1/runs/{run_id}", { params: { path } }));
    },
    onSuccess: async (gone) => {
      tell({
        kind: "good",
        text: `Deleted: ${counted(gone.spans, "span")}, ${bytes(gone.bytes)}.`,
      });
      // Not read at once: what still shows the run would ask for it, and be told that it is gone.
      await queries.invalidateQueries({ refetchType: "none" });
      onClose();
      await onGone();
    },
  });
  return (
    <ConfirmDialog
      title="Delete this run?"
      isOpen
      onClose={onClose}
      act="Delete for good"
      onAct={() => deletion.mutate()}
      isBusy={deletion.isPending}
      error={deletion.error}
    >
      <p>
        {counted(run.sums.spans, "span")} {run.sums.spans === 1 ? "is" : "are"} lost for good, with
        all that was asked, answered and attached in them. Experiments made from them keep their own
        copies.
      </p>
    </ConfirmDialog>
  );
}
