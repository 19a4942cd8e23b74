// The actions on the selected rows of a list, below the rows.
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { Button } from "../../components/Button";
import { Menu } from "../../components/Menu";
import { useNotices } from "../../components/Notices";
import type { View } from "../../components/query/views";
import type { ListSearch } from "../../components/table/listSearch";
import type { RowSelection } from "../../components/table/rowSelection";
import type { RowList } from "../../components/table/useRowList";
import { type File, useDownload } from "../../components/useDownload";
import { count, unit } from "../../format/numbers";
import { useShortcut } from "../../shortcuts/ShortcutProvider";
import { DeleteSelection } from "./DeleteSelection";
import { LabelSelection } from "./LabelSelection";
import styles from "./SelectionBar.module.css";
import { htmlFile, listFile, selectedRows } from "./selected";

const MOST_HTML = 100; // more rows would make a page that a browser cannot show

interface Props<Row> {
  view: View;
  query: string;
  list: RowList<Row>;
  idOf: (row: Row) => string;
  selection: RowSelection;
}

export function SelectionBar<Row extends { labels: readonly string[] }>(props: Props<Row>) {
  const { view, query, list, idOf, selection } = props;
  const { ids, until, has } = selection;
  const [shown, show] = useState<"label" | "delete" | null>(null);
  const number = selection.total;
  const compare = useCompare(view, selection);
  if (ids.length === 0) return null;
  const rows = selectedRows(view, query, selection);
  const isPair = ids.length === 2 && !until;
  return (
    <section className={styles.bar} aria-label={`Selected ${view}`}>
      <span role="status" className={styles.number}>
        {number === null
          ? `All matching ${view} selected`
          : `${count(number)} ${unit(number, view.replace(/s$/, ""), view)} selected`}
      </span>
      {list.hasMore && !until && (
        <Button small kind="quiet" onPress={() => selection.selectAll(list.total)}>
          Select all{list.total === null ? "" : ` ${count(list.total)}`} that match
        </Button>
      )}
      <Button
        small
        isDisabled={!isPair}
        onPress={compare}
        keys="c"
        aria-label={isPair ? "Compare" : "Compare (select exactly two rows)"}
      >
        Compare
      </Button>
      <Button small onPress={() => show("label")}>
        Label…
      </Button>
      <ExportSelection {...props} />
      <Button small kind="danger" onPress={() => show("delete")}>
        Delete…
      </Button>
      <Button small kind="quiet" keys="Escape" onPress={selection.clear}>
        Select none
      </Button>
      {!isPair && ids.length === 1 && (
        <span className={styles.hint}>Select another row to compare the two.</span>
      )}
      {shown === "label" && (
        <LabelSelection
          selected={rows}
          number={number}
          labels={[
            ...new Set(list.rows.filter((row) => has(idOf(row))).flatMap((row) => row.labels)),
          ]}
          onClose={() => show(null)}
        />
      )}
      {shown === "delete" && (
        <DeleteSelection
          selected={rows}
          onClose={() => show(null)}
          onGone={() => {
            show(null);
            selection.clear();
          }}
        />
      )}
    </section>
  );
}

function useCompare(view: View, { ids, until }: RowSelection): () => void {
  const navigate = useNavigate();
  const [newer, older] = ids;
  // The newest row comes first in most lists, so the earlier one becomes A.
  const compare = () => {
    if (newer && older) void navigate({ to: "/compare", search: { a: older, b: newer } });
  };
  useShortcut(
    { keys: "c", does: "Compare the two selected rows", where: `The list of ${view}` },
    compare,
    ids.length === 2 && !until,
  );
  return compare;
}

function ExportSelection<Row>({ view, query, selection }: Props<Row>) {
  const { sort, ascending }: ListSearch = useSearch({ strict: false });
  const { tell } = useNotices();
  const saving = useDownload();
  const order = { ...(sort ? { sort } : {}), ...(ascending ? { ascending } : {}) };
  const save = (file: () => File) => () => {
    try {
      saving.mutate(file());
    } catch (error) {
      tell({ kind: "bad", text: (error as Error).message });
    }
  };
  const list = (format: "csv" | "jsonl") =>
    save(() => listFile(view, query, selection, order, format));
  return (
    <Menu
      label={saving.isPending ? "Exporting…" : "Export"}
      actions={[
        { id: "csv", name: "Selected rows as CSV", run: list("csv") },
        { id: "jsonl", name: "Selected rows as JSON lines", run: list("jsonl") },
        {
          id: "html",
          name: "With all content as one HTML page",
          run: save(() => htmlFile(selection.ids)),
          isDisabled: selection.until !== null || selection.ids.length > MOST_HTML,
        },
      ]}
    />
  );
}
