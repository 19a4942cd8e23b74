// The keys of the tree, as in a treegrid: https://www.w3.org/WAI/ARIA/apg/patterns/treegrid/
import { type KeyboardEvent, useRef } from "react";
import { TOOL_CALL } from "../../../components/SpanName";
import { useShortcuts } from "../../../shortcuts/ShortcutProvider";
import type { Rows } from "../model/rows";
import { hasChildren, nameAt, type Tree } from "../model/tree";

const TYPING_MS = 800;

interface Given {
  tree: Tree;
  rows: Rows;
  collapsed: Uint8Array;
  active: number;
  onChoose: (place: number) => void;
  onCollapse: (places: readonly number[], collapsed: boolean) => void;
  onOpen: () => void;
  /** The number of rows of Page up and Page down. */
  page: () => number;
}

export type TreeAction =
  | { kind: "choose"; place: number }
  | { kind: "collapse"; places: readonly number[]; collapsed: boolean }
  | { kind: "open" };

export function useTreeKeys(given: Given): (event: KeyboardEvent) => void {
  const shortcuts = useShortcuts();
  const typed = useRef({ text: "", at: 0 });
  return (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const action = event.shiftKey && event.key.length > 1 ? null : actionOf(given, event.key);
    const found = action ?? typedAction(given, event, typed.current, shortcuts);
    if (!found) return;
    event.preventDefault();
    if (found.kind === "choose") given.onChoose(found.place);
    else if (found.kind === "collapse") given.onCollapse(found.places, found.collapsed);
    else given.onOpen();
  };
}

/** The action of a key; null if it is not a key of the tree. */
export function actionOf(
  given: Omit<Given, "onChoose" | "onCollapse" | "onOpen">,
  key: string,
): TreeAction | null {
  const { tree, rows, collapsed, active, page } = given;
  const last = rows.places.length - 1;
  const row = rows.rowOf[active] ?? -1;
  const toRow = (wanted: number): TreeAction | null => {
    const place = rows.places[Math.min(Math.max(wanted, 0), last)];
    return place === undefined ? null : { kind: "choose", place };
  };
  const isParent = row >= 0 && hasChildren(tree, active);
  switch (key) {
    case "ArrowDown":
      return toRow(row + 1);
    case "ArrowUp":
      return toRow(row - 1);
    case "PageDown":
      return toRow(row + page());
    case "PageUp":
      return toRow(row - page());
    case "Home":
      return toRow(0);
    case "End":
      return toRow(last);
    case "ArrowRight":
      if (!isParent) return null;
      if (collapsed[active] === 1) return { kind: "collapse", places: [active], collapsed: false };
      return toRow(row + 1);
    case "ArrowLeft": {
      if (isParent && collapsed[active] !== 1) {
        return { kind: "collapse", places: [active], collapsed: true };
      }
      const parent = tree.parents[active] ?? -1;
      return parent >= 0 ? { kind: "choose", place: parent } : null;
    }
    case "*":
      return row < 0
        ? null
        : { kind: "collapse", places: siblingsOf(tree, active), collapsed: false };
    case "Enter":
      return row < 0 ? null : { kind: "open" };
    default:
      return null;
  }
}

function siblingsOf(tree: Tree, place: number): number[] {
  const parent = tree.parents[place] ?? -1;
  const found: number[] = [];
  const end = parent < 0 ? tree.count : (tree.ends[parent] ?? tree.count);
  for (let at = parent + 1; at < end; at = tree.ends[at] ?? end) {
    if (hasChildren(tree, at)) found.push(at);
  }
  return found;
}

/**
 * Typed letters move to the next row whose name begins with them. Letters of shortcuts only
 * continue a word.
 */
function typedAction(
  given: Given,
  event: KeyboardEvent,
  typed: { text: string; at: number },
  shortcuts: readonly { keys: string }[],
): TreeAction | null {
  if (event.key.length !== 1 || event.key === " ") return null;
  const begins = event.timeStamp - typed.at > TYPING_MS;
  const isShortcut = shortcuts.some(
    ({ keys }) => keys === event.key || keys.startsWith(`${event.key} `),
  );
  if (begins && isShortcut) return null;
  typed.text = begins ? event.key : typed.text + event.key;
  typed.at = event.timeStamp;
  const place = nextNamed(given.tree, given.rows, given.active, typed.text);
  return place === null ? null : { kind: "choose", place };
}

/** The next visible index whose name begins with a text; the same one while more is typed. */
export function nextNamed(tree: Tree, rows: Rows, active: number, begun: string): number | null {
  const wanted = begun.toLowerCase();
  const fits = new Map<number, boolean>();
  const count = rows.places.length;
  const from = (rows.rowOf[active] ?? -1) + (wanted.length > 1 ? 0 : 1);
  for (let step = 0; step < count; step += 1) {
    const place = rows.places[(Math.max(from, 0) + step) % count] ?? 0;
    const name = tree.names[place] ?? -1;
    let fit = fits.get(name);
    if (fit === undefined) {
      const whole = nameAt(tree, place).toLowerCase();
      fit = [whole, whole.replace(TOOL_CALL, "")].some((each) => each.startsWith(wanted));
      fits.set(name, fit);
    }
    if (fit) return place;
  }
  return null;
}
