// The selected rows as the server's routes and exports take them.
import type { SelectedRows } from "../../api/schema";
import { appended, written } from "../../components/query/editing";
import type { View } from "../../components/query/views";
import type { RowSelection } from "../../components/table/rowSelection";
import type { File } from "../../components/useDownload";
import { idsIn } from "../../format/spanKey";

/** A longer address is refused by servers. */
const LONGEST_QUERY = 40_000;

type Selected = Pick<RowSelection, "ids" | "until">;

/** The selection of a list with this query. */
export function selectedRows(view: View, query: string, { ids, until }: Selected): SelectedRows {
  if (until !== null) return { rows: view, query: queryUntil(query, until) };
  return { rows: view, ids: [...ids] };
}

/** The rows that matched at a moment. Rows that started later are left out. */
function queryUntil(query: string, until: Date): string {
  return appended(query, `until:${until.toISOString()}`);
}

/** The query that selects the same rows. */
export function queryOf(view: View, query: string, { ids, until }: Selected): string {
  if (until !== null) return queryUntil(query, until);
  if (view !== "spans") return `${view.replace(/s$/, "")}:${ids.map(written).join(",")}`;
  const spans = ids.map(idsIn).filter((span) => span !== null);
  const traces = [...new Set(spans.map((span) => span.trace_id))];
  const names = [...new Set(spans.map((span) => span.span_id))];
  return `trace:${traces.map(written).join(",")} span:${names.map(written).join(",")}`;
}

/** The file of the selected rows, in the order of the list. Throws if they are too many. */
export function listFile(
  view: View,
  query: string,
  selection: Selected,
  order: Record<string, string>,
  format: "csv" | "jsonl",
): File {
  const selected = queryOf(view, query, selection);
  if (selected.length > LONGEST_QUERY) {
    throw new Error("Too many single rows are selected. Select all that match, or fewer rows.");
  }
  return { path: `/api/v1/exports/${view}`, parameters: { ...order, query: selected, format } };
}

/** The selected rows as one HTML page. */
export function htmlFile(ids: readonly string[]): File {
  return {
    path: "/api/v1/exports/html",
    parameters: ids.map((id): [string, string] => ["reference", id]),
  };
}
