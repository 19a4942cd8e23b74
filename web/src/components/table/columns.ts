// The columns of a list, and which are shown: their ids are in the address.
import type { ReactNode } from "react";
import type { Sort } from "./listSearch";

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
  sort?: Sort;
  /** Hidden by default. */
  hidden?: boolean;
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
): readonly Column<Row>[] {
  if (chosen === undefined) return columns.filter((column) => !column.hidden);
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

/** The widths as tracks of a CSS grid, and the total minimum width in rem. */
export function tracksOf<Row>(columns: readonly Column<Row>[]): { tracks: string; least: number } {
  const tracks = columns.map(({ width, grows }) =>
    grows ? `minmax(${width}rem, ${grows}fr)` : `${width}rem`,
  );
  const least = columns.reduce((sum, column) => sum + column.width, 0);
  return { tracks: tracks.join(" "), least };
}
