// What a trace shows now, out of its tree, the address and what is folded, and what changes it.
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

/** What is to be different in the address; undefined takes it out. */
export type TraceChange = { [name in keyof TraceSearch]?: TraceSearch[name] | undefined };

export interface OpenTrace {
  rows: Rows;
  /** 1 for each place that is collapsed. */
  collapsed: Uint8Array;
  found: Found;
  zoom: Zoom;
  sums: Sums;
  slowest: ReadonlyMap<number, number>;
  /** 1 for each place on the critical path; null where it is not marked. */
  critical: Uint8Array | null;
  /** The place that is chosen, and the one whose content is shown; -1 for none. */
  active: number;
  rested: number;
  onChoose: (place: number) => void;
  onClose: () => void;
  /** Choose a span and bring it into view, whatever hides it. */
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
      // What would be hidden cannot stay chosen: the highest that hides it is.
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

/** What the address names is shown, whatever hides it when it comes; later it may be hidden again.
 *
 * The span is undefined until it is known what is collapsed: what is told later would hide it. */
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
