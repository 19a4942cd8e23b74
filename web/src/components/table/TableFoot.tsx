// The foot of a list: how much is loaded, the new rows, and the order if there are no headers.
import type { ReactNode } from "react";
import { count, counted } from "../../format/numbers";
import { Select } from "../Select";
import type { Column } from "./columns";
import styles from "./DataTable.module.css";
import { type AnySort, GROUP_SORTS, SORTS } from "./listSearch";
import type { RowList } from "./useRowList";
import type { Order } from "./useTableModel";

interface Props<Row> {
  what: string;
  list: RowList<Row>;
  columns: readonly Column<Row>[];
  order: Order<AnySort>;
  onOrder: (order: Order<AnySort>) => void;
  isNarrow: boolean;
  /** Shown columns for which the list has no room. */
  leftOut: readonly Column<Row>[];
  /** New rows: here the button covers no row that a person may be about to click. */
  children: ReactNode;
}

export function TableFoot<Row>(props: Props<Row>) {
  const { what, list, columns, order, onOrder, isNarrow, leftOut, children } = props;
  const orders = ordersOf(columns);
  return (
    <footer className={styles.foot}>
      <span role="status">{loaded(what, list)}</span>
      {leftOut.length > 0 && (
        <span title="The list is too narrow for these columns. Close the filters or the panel, or choose the columns yourself.">
          No room for {leftOut.map((column) => column.name).join(", ")}
        </span>
      )}
      {children}
      {isNarrow && orders.length > 0 && (
        <Select
          label="Order"
          hideLabel
          value={`${order.sort} ${order.ascending}`}
          options={orders}
          onChange={(chosen) => {
            const [sort, ascending] = chosen.split(" ");
            const wanted = ALL_SORTS.find((each) => each === sort);
            if (wanted) onOrder({ sort: wanted, ascending: ascending === "true" });
          }}
        />
      )}
    </footer>
  );
}

function loaded<Row>(what: string, list: RowList<Row>): string {
  const here = count(list.rows.length);
  if (list.isLoadingMore) return `${here} loaded, loading more ${what}…`;
  if (!list.hasMore) return counted(list.rows.length, what.replace(/s$/, ""), what);
  return list.total === null
    ? `${here} ${what} loaded, there are more`
    : `${here} of ${count(list.total)} ${what} loaded`;
}

const ALL_SORTS: readonly AnySort[] = [...new Set<AnySort>([...SORTS, ...GROUP_SORTS])];
const WORDS: Readonly<Record<AnySort, readonly [string, string]>> = {
  time: ["Newest first", "Oldest first"],
  duration: ["Slowest first", "Fastest first"],
  cost: ["Most expensive first", "Cheapest first"],
  tokens: ["Most tokens first", "Fewest tokens first"],
  group: ["Z to A", "A to Z"],
  spans: ["Most spans first", "Fewest spans first"],
  calls: ["Most calls first", "Fewest calls first"],
  errors: ["Most errors first", "Fewest errors first"],
  runs: ["Most runs first", "Fewest runs first"],
  failed_runs: ["Most failed runs first", "Fewest failed runs first"],
  cost_per_run: ["Most expensive runs first", "Cheapest runs first"],
  p50: ["Highest median first", "Lowest median first"],
  p95: ["Highest p95 first", "Lowest p95 first"],
};

function ordersOf<Row>(columns: readonly Column<Row>[]) {
  return ALL_SORTS.filter((sort) => columns.some((column) => column.sort === sort)).flatMap(
    (sort) => WORDS[sort].map((name, at) => ({ id: `${sort} ${at === 1}`, name })),
  );
}
