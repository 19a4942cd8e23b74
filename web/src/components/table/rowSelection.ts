// The selected rows of a list: single rows, or all rows that match the query.
import { useMemo, useState } from "react";

interface Selected {
  /** The selected ids, or null if all matching rows are selected. */
  ids: ReadonlySet<string> | null;
  /** The row from which Shift extends the selection. */
  anchor: string | null;
  /** When all matching rows were selected. Rows that start later are not selected. */
  until: Date | null;
  /** Their number at that time; null if it is unknown. */
  total: number | null;
}

const NOTHING: Selected = { ids: new Set(), anchor: null, until: null, total: null };

export interface RowSelection {
  /** The selected loaded rows in the order of the list. */
  ids: readonly string[];
  /** If all rows that match are selected, also those that are not loaded: since when. */
  until: Date | null;
  /** The number of selected rows; null if it is unknown. */
  total: number | null;
  has: (id: string) => boolean;
  toggle: (id: string) => void;
  /** Selects the rows from the last selected one to this one. */
  extend: (id: string) => void;
  /** Selects all loaded rows, or none if they are all selected. */
  toggleLoaded: () => void;
  /** Selects all rows that match now, whose number is `total`. */
  selectAll: (total: number | null) => void;
  clear: () => void;
}

/** The ids between two rows, in the order of the list. Without the first row, only the second. */
export function rangeOf(order: readonly string[], from: string | null, to: string): string[] {
  const first = from === null ? -1 : order.indexOf(from);
  const last = order.indexOf(to);
  if (first < 0 || last < 0) return [to];
  return order.slice(Math.min(first, last), Math.max(first, last) + 1);
}

/** The ids with one of them added, or without it. */
export function toggled(ids: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(ids);
  if (!next.delete(id)) next.add(id);
  return next;
}

/** The selection of a list. Another `list`, which names the query, has another selection. */
export function useRowSelection<Row extends object>(
  list: string,
  rows: readonly Row[],
  idOf: (row: Row) => string,
): RowSelection {
  const [kept, setKept] = useState({ list, selected: NOTHING });
  const { ids, anchor, until, total } = kept.list === list ? kept.selected : NOTHING;
  const order = useMemo(() => rows.map(idOf), [rows, idOf]);
  const shown = useMemo(() => {
    if (ids !== null) return order.filter((id) => ids.has(id));
    const end = Number(until) * 1_000;
    return rows.filter((row) => startOf(row) < end).map(idOf);
  }, [order, rows, idOf, ids, until]);
  const selected = useMemo(() => new Set(shown), [shown]);
  const set = (selected: Partial<Selected>) =>
    setKept({ list, selected: { ...NOTHING, ...selected } });
  const now = ids ?? selected;
  return {
    ids: shown,
    until,
    total: until === null ? shown.length : total,
    has: (id) => selected.has(id),
    toggle: (id) => set({ ids: toggled(now, id), anchor: id }),
    extend: (id) =>
      set({ ids: new Set([...now, ...rangeOf(order, anchor, id)]), anchor: anchor ?? id }),
    toggleLoaded: () => set(shown.length === order.length ? NOTHING : { ids: new Set(order) }),
    selectAll: (total) => set({ ids: null, until: new Date(), total }),
    clear: () => set(NOTHING),
  };
}

/** The start in Unix microseconds. Groups have none. */
function startOf(row: object): number {
  return "start_us" in row ? Number(row.start_us) : 0;
}
