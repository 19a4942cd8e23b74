// The columns, order and rows of a list for TanStack Table. The server sorts.
import {
  type ColumnDef,
  columnVisibilityFeature,
  metaHelper,
  type RowData,
  rowSortingFeature,
  type SortingState,
  tableFeatures,
  useTable,
} from "@tanstack/react-table";
import { useMemo } from "react";
import type { Column } from "./columns";
import type { AnySort, Sort } from "./listSearch";

interface Look extends Pick<Column<never>, "align" | "isLink" | "unit"> {
  /** Whether a narrow page shows it. */
  isInNarrow: (row: never) => boolean;
}

const features = tableFeatures({
  columnVisibilityFeature,
  rowSortingFeature,
  columnMeta: metaHelper<Look>(),
});
export type Features = typeof features;
export type Model<Row extends RowData> = ReturnType<typeof useTable<Features, Row>>;

export interface Order<S extends AnySort = Sort> {
  sort: S;
  ascending: boolean;
}

interface Given<Row> {
  columns: readonly Column<Row>[];
  shown: readonly Column<Row>[];
  rows: readonly Row[];
  idOf: (row: Row) => string;
  order: Order<AnySort>;
  onOrder: (order: Order<AnySort>) => void;
}

export function useTableModel<Row extends RowData>(given: Given<Row>): Model<Row> {
  const { columns, shown, rows, idOf, order, onOrder } = given;
  const definitions = useMemo(() => columns.map(definitionOf), [columns]);
  const columnVisibility = useMemo(
    () => Object.fromEntries(columns.map((column) => [column.id, shown.includes(column)])),
    [columns, shown],
  );
  const sorting = useMemo(() => sortingOf(columns, order), [columns, order]);
  return useTable<Features, Row>({
    features,
    columns: definitions,
    data: rows as Row[],
    getRowId: idOf,
    manualSorting: true,
    enableSortingRemoval: false,
    enableMultiSort: false,
    sortDescFirst: true,
    state: { columnVisibility, sorting },
    onSortingChange: (change) => {
      const [wanted] = typeof change === "function" ? change(sorting) : change;
      const sort = columns.find((column) => column.id === wanted?.id)?.sort;
      if (wanted && sort) onOrder({ sort, ascending: !wanted.desc });
    },
  });
}

function definitionOf<Row extends RowData>(column: Column<Row>): ColumnDef<Features, Row> {
  const { align, isLink, narrow, unit } = column;
  return {
    id: column.id,
    header: column.name,
    cell: ({ row }) => column.cell(row.original),
    // TanStack Table sorts only columns with a value. The server's order is shown.
    accessorFn: () => null,
    enableSorting: column.sort !== undefined,
    enableHiding: !isLink,
    meta: {
      ...(align ? { align } : {}),
      ...(isLink ? { isLink } : {}),
      isInNarrow: (row: Row) =>
        isLink === true || (typeof narrow === "function" ? narrow(row) : narrow === true),
      ...(unit ? { unit } : {}),
    },
  };
}

function sortingOf<Row>(columns: readonly Column<Row>[], order: Order<AnySort>): SortingState {
  const column = columns.find((each) => each.sort === order.sort);
  return column ? [{ id: column.id, desc: !order.ascending }] : [];
}
