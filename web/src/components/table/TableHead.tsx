// The headers of a list. A header that the server can sort by is a button.
import type { RowData } from "@tanstack/react-table";
import { ColumnEdge } from "./ColumnEdge";
import type { Widths } from "./columns";
import styles from "./DataTable.module.css";
import { RowCheckbox } from "./RowCheckbox";
import type { RowSelection } from "./rowSelection";
import type { Model } from "./useTableModel";

interface Props<Row extends RowData> {
  table: Model<Row>;
  widths: Widths;
  onWidths: (widths: Widths) => void;
  /** The kind of the rows. */
  what: string;
  selection?: RowSelection | undefined;
}

export function TableHead<Row extends RowData>(props: Props<Row>) {
  const { table, widths, onWidths, what, selection } = props;
  const change = (id: string, width: number | undefined) => {
    const { [id]: _, ...others } = widths;
    onWidths(width === undefined ? others : { ...others, [id]: width });
  };
  return (
    <div role="rowgroup" className={styles.head}>
      {table.getHeaderGroups().map((group) => (
        <div key={group.id} role="row" aria-rowindex={1} className={styles.row}>
          {selection && (
            <div role="columnheader" className={styles.check}>
              <RowCheckbox
                label={`Select all loaded ${what}`}
                isSelected={selection.ids.length === table.getRowModel().rows.length}
                isPartial={
                  selection.ids.length > 0 && selection.ids.length < table.getRowModel().rows.length
                }
                onChange={selection.toggleLoaded}
              />
            </div>
          )}
          {group.headers.map(({ id, column }) => {
            const sorted = column.getIsSorted();
            const name = String(column.columnDef.header);
            return (
              <div
                key={id}
                role="columnheader"
                className={styles.cell}
                data-align={column.columnDef.meta?.align}
                aria-sort={sorted ? (sorted === "desc" ? "descending" : "ascending") : undefined}
              >
                {column.getCanSort() ? (
                  <button
                    type="button"
                    className={styles.sort}
                    onClick={column.getToggleSortingHandler()}
                  >
                    {name}
                    {sorted && <span aria-hidden="true">{sorted === "desc" ? "↓" : "↑"}</span>}
                  </button>
                ) : (
                  name
                )}
                <ColumnEdge
                  name={name}
                  width={widths[column.id]}
                  onWidth={(width) => change(column.id, width)}
                />
              </div>
            );
          })}
        </div>
      ))}
    </div>
  );
}
