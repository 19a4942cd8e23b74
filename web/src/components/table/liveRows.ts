// How the newest page of a list, read again, is merged into the shown pages.
import type { InfiniteData } from "@tanstack/react-query";

export interface RowPage<Row> {
  data: Row[];
  pagination: { total: number | null; next_cursor: string | null };
}

export type RowPages<Row> = InfiniteData<RowPage<Row>, string | null>;
type IdOf<Row> = (row: Row) => string;

export interface Waiting {
  /** Rows that are not shown yet. */
  added: number;
  /** Shown rows that have moved up. */
  moved: number;
}

export const NOTHING_WAITS: Waiting = { added: 0, moved: 0 };
const MOST_ROWS = 1_000; // a list that grows at its top beyond this is read from the start

/** All rows once, each at its first position. */
export function rowsOf<Row>(pages: readonly RowPage<Row>[], idOf: IdOf<Row>): Row[] {
  const rows = new Map<string, Row>();
  for (const page of pages) {
    for (const row of page.data) if (!rows.has(idOf(row))) rows.set(idOf(row), row);
  }
  return [...rows.values()];
}

/** The rows that would move if the newest page were merged. */
export function waitingIn<Row>(
  rows: readonly Row[],
  newest: RowPage<Row>,
  idOf: IdOf<Row>,
): Waiting {
  const places = new Map(rows.map((row, place) => [idOf(row), place]));
  let added = 0;
  let moved = 0;
  let next = Number.POSITIVE_INFINITY;
  for (const row of newest.data.toReversed()) {
    const place = places.get(idOf(row));
    if (place === undefined) added += 1;
    else if (place > next) moved += 1;
    else next = place;
  }
  return { added, moved };
}

/** The same rows in the same positions, with the newest values. */
export function refreshed<Row>(
  shown: RowPages<Row>,
  newest: RowPage<Row>,
  idOf: IdOf<Row>,
): RowPages<Row> {
  const told = new Map(newest.data.map((row) => [idOf(row), row]));
  const pages = shown.pages.map((page, at) => ({
    data: page.data.map((row) => told.get(idOf(row)) ?? row),
    pagination: at === 0 ? { ...page.pagination, total: newest.pagination.total } : page.pagination,
  }));
  return { ...shown, pages };
}

/** The newest page on top of the shown rows; alone if that would leave a gap, or be too long. */
export function putIn<Row>(
  shown: RowPages<Row>,
  newest: RowPage<Row>,
  idOf: IdOf<Row>,
): RowPages<Row> {
  const [first, ...others] = shown.pages;
  const newIds = new Set(newest.data.map(idOf));
  const known = rowsOf(shown.pages, idOf);
  const joins = known.length === 0 || known.some((row) => newIds.has(idOf(row)));
  if (!first || !joins || known.length + newest.data.length > MOST_ROWS) {
    return { pages: [newest], pageParams: [null] };
  }
  const left = (page: RowPage<Row>) => page.data.filter((row) => !newIds.has(idOf(row)));
  const top = {
    data: [...newest.data, ...left(first)],
    pagination: { ...first.pagination, total: newest.pagination.total },
  };
  const rest = others.map((page) => ({ ...page, data: left(page) }));
  return { ...shown, pages: [top, ...rest] };
}
