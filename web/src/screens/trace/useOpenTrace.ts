// The state of an open trace, from its tree, the address and the folding, and the functions that
// change it.
import { useCallback, useEffect, useMemo, useRef } from "react";
import type { TraceSearch } from "../searches";
import { criticalPath } from "./model/criticalPath";
import { type Sums, slowestPlaces, sumsOf } from "./model/notable";
import { hider, hiding, type Rows, rowsOf } from "./model/rows";
import { placeOf, type Tree } from "./model/tree";
import { readZoom, writeZoom, type Zoom } from "./model/zoom";
import { useCollapsed } from "./useCollapsed";
import { type Found, useFind } from "./useFind";
import { useSelection } from "./useSelection";

/** Changed parameters of the address; undefined removes one. */
export type TraceChange = { [name in keyof TraceSearch]?: TraceSearch[name] | undefined };

export interface OpenTrace {
  rows: Rows;
  /** 1 for each collapsed index. */
  collapsed: Uint8Array;
  found: Found;
  zoom: Zoom;
  sums: Sums;
  slowest: ReadonlyMap<number, number>;
  /** 1 for each index on the critical path; null if it is not marked. */
  critical: Uint8Array | null;
  /** The selected index, and the one whose content is shown; -1 for none. */
  active: number;
  rested: number;
  onChoose: (place: number) => void;
  onClose: () => void;
  /** Selects a span and scrolls to it, whatever hides it. */
  onReveal: (place: number) => void;
  onCollapse: (places: readonly number[], collapsed: boolean) => void;
  onZoom: (zoom: Zoom) => void;
}

export function useOpenTrace(
  tree: Tree,
  search: TraceSearch,
  onSearch: (change: TraceChange) => void,
): OpenTrace {
  const { id, restedId, choose } = useSelection(search.span, (span) => onSearch({ span }));
  const { isKnown, at: collapsed, set: setCollapsed } = useCollapsed(tree);
  const rows = useMemo(() => rowsOf(tree, collapsed), [tree, collapsed]);
  const found = useFind(tree, search.find ?? "");
  const zoom = useMemo(() => readZoom(search.zoom), [search.zoom]);
  const sums = useMemo(() => sumsOf(tree), [tree]);
  const slowest = useMemo(() => slowestPlaces(tree), [tree]);
  const isCritical = search.critical === "true";
  const critical = useMemo(() => (isCritical ? criticalPath(tree) : null), [tree, isCritical]);
  const active = placeOf(tree, id);
  const rested = placeOf(tree, restedId);
  const onChoose = useCallback((place: number) => choose(tree.ids[place]), [choose, tree]);
  const onReveal = useCallback(
    (place: number) => {
      const above = hiding(tree, collapsed, place);
      if (above.length > 0) setCollapsed(above, false);
      onChoose(place);
    },
    [tree, collapsed, setCollapsed, onChoose],
  );
  const onCollapse = useCallback(
    (places: readonly number[], isCollapsed: boolean) => {
      setCollapsed(places, isCollapsed);
      // A selected span that would be hidden is replaced by the ancestor that hides it.
      const hides = isCollapsed ? hider(tree, places, active) : -1;
      if (hides >= 0) onChoose(hides);
    },
    [tree, setCollapsed, active, onChoose],
  );
  const onZoom = (next: Zoom) => onSearch({ zoom: writeZoom(next) });
  const onClose = () => choose(undefined);
  useRevealed(isKnown ? search.span : undefined, active, rows, onReveal);
  const shown = { rows, collapsed, found, zoom, sums, slowest, critical, active, rested };
  return { ...shown, onChoose, onClose, onReveal, onCollapse, onZoom };
}

/**
 * The span in the address is shown, whatever hides it at first; later it may be hidden again. It
 * is undefined until the collapsed spans are known, since they would hide it later.
 */
function useRevealed(
  span: string | undefined,
  active: number,
  rows: Rows,
  onReveal: (place: number) => void,
): void {
  const revealed = useRef<string>(undefined);
  useEffect(() => {
    if (span === undefined || active < 0 || revealed.current === span) return;
    revealed.current = span;
    if (rows.rowOf[active] === -1) onReveal(active);
  }, [span, active, rows, onReveal]);
}
