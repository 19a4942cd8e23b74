// The actions on a trace as a whole, by button and by key.
import { type RefObject, useMemo, useRef } from "react";
import { useShortcut } from "../../shortcuts/ShortcutProvider";
import { hasChildren, type Tree } from "./model/tree";
import { around, moved, scaled, WHOLE, type Zoom } from "./model/zoom";
import { nextOf } from "./useFind";
import type { OpenTrace } from "./useOpenTrace";

const PAN = 0.25;
const WHERE = "Trace";

interface Given
  extends Pick<
    OpenTrace,
    | "rows"
    | "active"
    | "found"
    | "sums"
    | "zoom"
    | "onZoom"
    | "onChoose"
    | "onReveal"
    | "onCollapse"
  > {
  tree: Tree;
  isCritical: boolean;
  onCritical: (shown: boolean) => void;
}

export interface Actions {
  /** The element around the search field. */
  findRef: RefObject<HTMLDivElement | null>;
  focusFind: () => void;
  step: (back: boolean) => void;
  nextError: () => void;
  toggleCritical: () => void;
  expandAll: () => void;
  collapseAll: () => void;
  zoomIn: () => void;
  zoomOut: () => void;
  zoomFit: () => void;
}

export function useActions(given: Given): Actions {
  const findRef = useRef<HTMLDivElement>(null);
  const { tree, active, zoom, onZoom } = given;
  const span = useMemo(() => chosenSpan(tree, active), [tree, active]);
  const goTo = (places: readonly number[], back: boolean) => {
    const next = nextOf(places, active, back);
    if (next !== undefined) given.onReveal(next);
  };
  const actions: Actions = {
    findRef,
    focusFind: () => findRef.current?.querySelector("input")?.focus(),
    step: (back) => goTo(given.found.places, back),
    nextError: () => goTo(given.sums.failed, false),
    toggleCritical: () => given.onCritical(!given.isCritical),
    expandAll: () => given.onCollapse(parents(tree), false),
    collapseAll: () => given.onCollapse(parents(tree), true),
    zoomIn: () => onZoom(scaled(zoom, true, within(zoom, span))),
    zoomOut: () => onZoom(scaled(zoom, false)),
    zoomFit: () => onZoom(WHOLE),
  };
  useKeys(actions, given, span);
  return actions;
}

function useKeys(actions: Actions, given: Given, span: Zoom | null): void {
  const { zoom, onZoom, rows, active } = given;
  const onStep = (by: number) => {
    const place = rows.places[(rows.rowOf[active] ?? -1) + by];
    if (place !== undefined) given.onChoose(place);
  };
  const key = (keys: string, does: string) => ({ keys, does, where: WHERE });
  useShortcut(key("/", "Find in this trace"), actions.focusFind);
  useShortcut(key("n", "Next match"), () => actions.step(false));
  useShortcut(key("N", "Previous match"), () => actions.step(true));
  useShortcut(key("e", "Next error"), actions.nextError);
  useShortcut(key("j", "Next row"), () => onStep(1));
  useShortcut(key("k", "Previous row"), () => onStep(-1));
  useShortcut(key("p", "Mark the critical path"), actions.toggleCritical);
  useShortcut(key("]", "Expand all"), actions.expandAll);
  useShortcut(key("[", "Collapse all"), actions.collapseAll);
  useShortcut(key("+", "Zoom in"), actions.zoomIn);
  useShortcut(key("-", "Zoom out"), actions.zoomOut);
  useShortcut(key("0", "Show the whole time"), actions.zoomFit);
  useShortcut(key("z", "Zoom to the selected span"), () => {
    if (span) onZoom(around(span.from, span.to));
  });
  useShortcut(key("Shift+ArrowLeft", "Earlier"), () => onZoom(moved(zoom, -PAN)));
  useShortcut(key("Shift+ArrowRight", "Later"), () => onZoom(moved(zoom, PAN)));
}

/** The time of the selected span as fractions of the complete time. */
function chosenSpan(tree: Tree, place: number): Zoom | null {
  if (place < 0) return null;
  return {
    from: (tree.starts[place] ?? 0) / tree.total,
    to: (tree.stops[place] ?? 0) / tree.total,
  };
}

/** The middle of the selected span, if it is in view. */
function within(zoom: Zoom, span: Zoom | null): number | undefined {
  if (!span) return undefined;
  const middle = (span.from + span.to) / 2;
  return middle >= zoom.from && middle <= zoom.to ? middle : undefined;
}

function parents(tree: Tree): number[] {
  return [...tree.parents.keys()].filter((place) => hasChildren(tree, place));
}
