// Deletes the selected rows after a confirmation that states what goes with them.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { client, ok } from "../../api/client";
import type { SelectedRows, SelectionCount } from "../../api/schema";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { useNotices } from "../../components/Notices";
import { ErrorNotice, Loading } from "../../components/States";
import { bytes, count, counted } from "../../format/numbers";

interface Props {
  selected: SelectedRows;
  onGone: () => void;
  onClose: () => void;
}

export function DeleteSelection({ selected, onGone, onClose }: Props) {
  const queries = useQueryClient();
  const { tell } = useNotices();
  const counting = useQuery({
    queryKey: ["selection", selected],
    queryFn: ({ signal }) =>
      ok(client.POST("/api/v1/selections/count", { body: selected, signal })),
    gcTime: 0,
  });
  const deletion = useMutation({
    mutationFn: () => ok(client.POST("/api/v1/selections/delete", { body: selected })),
    onSuccess: async (gone) => {
      tell({
        kind: "good",
        text: `Deleted: ${counted(gone.spans, "span")}, ${bytes(gone.bytes)}.`,
      });
      onGone();
      await queries.invalidateQueries();
    },
  });
  return (
    <ConfirmDialog
      title={counting.data ? titleOf(selected.rows, counting.data) : "Delete the selected rows?"}
      isOpen
      onClose={onClose}
      act="Delete permanently"
      onAct={() => deletion.mutate()}
      isBusy={deletion.isPending || !counting.data}
      error={deletion.error}
    >
      {counting.error ? (
        <ErrorNotice what="The selected rows could not be counted" error={counting.error} />
      ) : counting.data ? (
        <p>{consequences(selected.rows, counting.data)}</p>
      ) : (
        <Loading what="the number of spans" lines={1} />
      )}
    </ConfirmDialog>
  );
}

type Rows = SelectedRows["rows"];

/** "Delete 3 runs?"; for spans, the traces that they belong to. */
export function titleOf(rows: Rows, { rows: number, traces, complete }: SelectionCount): string {
  const least = complete ? "" : "more than ";
  if (traces !== null) return `Delete ${least}${counted(traces, "trace")}?`;
  return `Delete ${least}${counted(number, rows.replace(/s$/, ""))}?`;
}

/** What the deletion includes. */
export function consequences(
  rows: Rows,
  { rows: number, traces, spans, complete }: SelectionCount,
): string {
  const lost = `${complete ? "" : "More than "}${counted(spans, "span")} ${
    spans === 1 ? "is" : "are"
  } deleted permanently, with their messages and attachments.`;
  const why =
    rows === "spans"
      ? `The ${count(number)} selected ${number === 1 ? "span belongs" : "spans belong"} to ${
          traces === 1 ? "this trace" : "these traces"
        }. A trace is deleted as a whole. `
      : rows === "threads"
        ? "All runs of the threads are deleted. "
        : "";
  return `${why}${lost} Experiments keep their own copies.`;
}
