// The headers of a list. A header that the server can sort by is a button.
import type { RowData } from "@tanstack/react-table";
import styles from "./DataTable.module.css";
import type { Model } from "./useTableModel";

export function TableHead<Row extends RowData>({ table }: { table: Model<Row> }) {
  return (
    <div role="rowgroup" className={styles.head}>
      {table.getHeaderGroups().map((group) => (
        <div key={group.id} role="row" aria-rowindex={1} className={styles.row}>
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
              </div>
            );
          })}
        </div>
      ))}
    </div>
  );
}
