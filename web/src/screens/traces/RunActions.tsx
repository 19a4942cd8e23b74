// The actions on a run.
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
import { htmlExport, useDownload } from "../../components/useDownload";
import { bytes, counted } from "../../format/numbers";
import { exportCommand } from "./exportCommand";
import styles from "./RunActions.module.css";
import { useAskAnalyst } from "./useAskAnalyst";

interface Props {
  run: RunSummary;
  /** Called after the deletion, when all data counts as outdated: it leaves the run. */
  onGone: () => Promise<void> | void;
}

export function RunActions({ run, onGone }: Props) {
  const [shown, show] = useState<"export" | "delete" | null>(null);
  const copy = useCopy();
  const ask = useAskAnalyst();
  const saving = useDownload();
  const link = `${location.origin}/runs/${encodeURIComponent(run.run_id)}`;
  return (
    <>
      <Menu
        label="Actions"
        actions={[
          { id: "ask", name: "Ask the analyst about it", run: ask, keys: "a" },
          { id: "link", name: "Copy the link", run: () => void copy(link) },
          { id: "id", name: "Copy the id", run: () => void copy(run.run_id) },
          {
            id: "html",
            name: "Save as an HTML page",
            run: () => saving.mutate(htmlExport(run.run_id)),
          },
          { id: "export", name: "Export…", run: () => show("export") },
          { id: "delete", name: "Delete…", run: () => show("delete"), danger: true },
        ]}
      />
      <Dialog title="Export this run" isOpen={shown === "export"} onOpenChange={() => show(null)}>
        <p className={styles.words}>
          The first command writes all spans with their content, one per line. The second writes a
          file for OpenTelemetry tools. <code>treadle traces import</code> imports both.
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
      // Not refreshed at once: the screen that still shows the run would request it and get a 404.
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
      act="Delete permanently"
      onAct={() => deletion.mutate()}
      isBusy={deletion.isPending}
      error={deletion.error}
    >
      <p>
        {counted(run.sums.spans, "span")} {run.sums.spans === 1 ? "is" : "are"} deleted permanently,
        with their messages and attachments. Experiments keep their own copies.
      </p>
    </ConfirmDialog>
  );
}
