// A table of few rows, without virtual scrolling. On a narrow page each row becomes a block of
// lines.
import type { ReactNode } from "react";
import styles from "./PlainTable.module.css";

export interface PlainColumn<Row> {
  id: string;
  name: string;
  cell: (row: Row) => ReactNode;
  /** Numbers are aligned right. */
  align?: "end";
  /** The name of the row: its first line on a narrow page. One column has it. */
  isTitle?: boolean;
  /** Takes the remaining width. */
  grows?: boolean;
  /** Only screen readers hear the name, for a column of buttons. */
  hideName?: boolean;
}

interface Props<Row> {
  label: string;
  columns: readonly PlainColumn<Row>[];
  rows: readonly Row[];
  idOf: (row: Row) => string;
  /** The row that another part of the screen shows. */
  chosen?: string | undefined;
}

export function PlainTable<Row>({ label, columns, rows, idOf, chosen }: Props<Row>) {
  return (
    <table className={styles.table} aria-label={label}>
      <thead>
        <tr>
          {columns.map((column) => (
            <th
              key={column.id}
              scope="col"
              data-align={column.align}
              data-grows={column.grows ?? false}
            >
              {column.hideName ? (
                <span className="visually-hidden">{column.name}</span>
              ) : (
                column.name
              )}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={idOf(row)} data-chosen={idOf(row) === chosen}>
            {columns.map((column) => (
              <td
                key={column.id}
                data-align={column.align}
                data-title={column.isTitle ?? false}
                data-name={column.isTitle || column.hideName ? undefined : column.name}
              >
                {column.cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
