// What a column of a list is, and which columns are shown: their ids stand in the address.
import type { ReactNode } from "react";
import type { Sort } from "./listSearch";

export interface Column<Row> {
  /** Stable: it stands in addresses and saved views. */
  id: string;
  name: string;
  cell: (row: Row) => ReactNode;
  /** The least width in rem; with `grows`, its share of what is left. */
  width: number;
  grows?: number;
  /** Numbers stand at the end. */
  align?: "end";
  /** By what the server sorts for it. */
  sort?: Sort;
  /** Not shown unless it is chosen. */
  hidden?: boolean;
  /** What the row is called: its link, always shown. One column has it. */
  isLink?: boolean;
  /** Shown where it is narrow, in the second line of the row (the link is in the first). */
  narrow?: boolean | ((row: Row) => boolean);
  /** Said there behind the value, which has no header over it: "tokens". */
  unit?: string | ((row: Row) => string);
}

/** The columns that are shown: those that `chosen` names, with commas, or those by default. */
export function shownColumns<Row>(
  columns: readonly Column<Row>[],
  chosen: string | undefined,
): readonly Column<Row>[] {
  if (chosen === undefined) return columns.filter((column) => !column.hidden);
  const ids = new Set(chosen.split(","));
  return columns.filter((column) => column.isLink || ids.has(column.id));
}

/** What stands in the address for these ids; undefined for the default. */
export function columnsText<Row>(
  columns: readonly Column<Row>[],
  ids: ReadonlySet<string>,
): string | undefined {
  const usual = columns.every((column) => column.isLink || !column.hidden === ids.has(column.id));
  if (usual) return undefined;
  const chosen = columns.filter((column) => column.isLink || ids.has(column.id));
  return chosen.map((column) => column.id).join(",");
}

/** The widths as tracks of a CSS grid, and the least width of all in rem. */
export function tracksOf<Row>(columns: readonly Column<Row>[]): { tracks: string; least: number } {
  const tracks = columns.map(({ width, grows }) =>
    grows ? `minmax(${width}rem, ${grows}fr)` : `${width}rem`,
  );
  const least = columns.reduce((sum, column) => sum + column.width, 0);
  return { tracks: tracks.join(" "), least };
}
