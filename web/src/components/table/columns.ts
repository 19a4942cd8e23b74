// The columns of a list, and which are shown: their ids are in the address.
import type { ReactNode } from "react";
import type { AnySort } from "./listSearch";

export interface Column<Row> {
  /** Stable: addresses and saved views contain it. */
  id: string;
  name: string;
  cell: (row: Row) => ReactNode;
  /** The minimum width in rem; with `grows`, its share of the remaining width. */
  width: number;
  grows?: number;
  /** Numbers are aligned right. */
  align?: "end";
  /** The sort key of the server. */
  sort?: AnySort;
  /** Left out first if the list is too narrow for all columns. */
  optional?: boolean;
  /** Hidden by default. */
  hidden?: boolean;
  /** Whether a query makes it visible by default. */
  isWanted?: (query: string) => boolean;
  /** The name of the row: its link, always shown. One column has it. */
  isLink?: boolean;
  /** Shown on a narrow page, in the second line of the row (the link is in the first). */
  narrow?: boolean | ((row: Row) => boolean);
  /** Text after the value there, which has no header: "tokens". */
  unit?: string | ((row: Row) => string);
}

/** The shown columns: those in `chosen`, separated by commas, or the defaults. */
export function shownColumns<Row>(
  columns: readonly Column<Row>[],
  chosen: string | undefined,
  query = "",
): readonly Column<Row>[] {
  if (chosen === undefined) {
    return columns.filter((column) => !column.hidden || column.isWanted?.(query));
  }
  const ids = new Set(chosen.split(","));
  return columns.filter((column) => column.isLink || ids.has(column.id));
}

/** The parameter for these ids; undefined for the default. */
export function columnsText<Row>(
  columns: readonly Column<Row>[],
  ids: ReadonlySet<string>,
): string | undefined {
  const usual = columns.every((column) => column.isLink || !column.hidden === ids.has(column.id));
  if (usual) return undefined;
  const chosen = columns.filter((column) => column.isLink || ids.has(column.id));
  return chosen.map((column) => column.id).join(",");
}

/** Widths in rem that a person chose, by the id of the column. */
export type Widths = Readonly<Record<string, number>>;

/** The widths as tracks of a CSS grid, and the total minimum width in rem. */
export function tracksOf<Row>(
  columns: readonly Column<Row>[],
  widths: Widths = {},
): { tracks: string; least: number } {
  const tracks = columns.map(({ id, width, grows }) => {
    const chosen = widths[id];
    if (chosen !== undefined) return `${chosen}rem`;
    return grows ? `minmax(${width}rem, ${grows}fr)` : `${width}rem`;
  });
  const least = columns.reduce((sum, { id, width }) => sum + (widths[id] ?? width), 0);
  return { tracks: tracks.join(" "), least };
}

/**
 * The columns that fit into a width in rem: the link, the sorted column, then the others in order.
 * Optional columns come last.
 */
export function fittingColumns<Row>(
  columns: readonly Column<Row>[],
  width: number,
  sort: AnySort,
  widths: Widths = {},
): readonly Column<Row>[] {
  const widthOf = (column: Column<Row>) => widths[column.id] ?? column.width;
  const needed = columns.filter((column) => column.isLink || column.sort === sort);
  const fitting = new Set(needed);
  let left = width - needed.reduce((sum, column) => sum + widthOf(column), 0);
  const byNeed = columns.toSorted((a, b) => Number(a.optional ?? 0) - Number(b.optional ?? 0));
  for (const column of byNeed) {
    if (fitting.has(column)) continue;
    left -= widthOf(column);
    if (left < 0) break;
    fitting.add(column);
  }
  return columns.filter((column) => fitting.has(column));
}
