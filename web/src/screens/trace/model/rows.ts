// The visible rows of a tree: all but those below a collapsed one.
import type { Tree } from "./tree";

export interface Rows {
  /** The indexes of the visible spans, in order. */
  readonly places: Int32Array;
  /** The row of each index; -1 if it is hidden. */
  readonly rowOf: Int32Array;
}

export function rowsOf(tree: Tree, collapsed: Uint8Array): Rows {
  const shown = new Int32Array(tree.count);
  const rowOf = new Int32Array(tree.count).fill(-1);
  let row = 0;
  for (let place = 0; place < tree.count; row += 1) {
    shown[row] = place;
    rowOf[place] = row;
    place = collapsed[place] === 1 ? (tree.ends[place] ?? tree.count) : place + 1;
  }
  return { places: shown.subarray(0, row), rowOf };
}

/** Which spans are collapsed, by index. A span without children never is. */
export function collapsedPlaces(tree: Tree, ids: Iterable<string>): Uint8Array {
  const wanted = new Set(ids);
  const collapsed = new Uint8Array(tree.count);
  if (wanted.size === 0) return collapsed;
  for (let place = 0; place < tree.count; place += 1) {
    const isParent = (tree.ends[place] ?? 0) > place + 1;
    if (isParent && wanted.has(tree.ids[place] ?? "")) collapsed[place] = 1;
  }
  return collapsed;
}

/** The span itself if it is visible, otherwise the collapsed ancestor that hides it. */
export function shownPlace(tree: Tree, rows: Rows, place: number): number {
  let at = place;
  while (at >= 0 && rows.rowOf[at] === -1) at = tree.parents[at] ?? -1;
  return at;
}

/** The collapsed ancestors of an index, which hide it. */
export function hiding(tree: Tree, collapsed: Uint8Array, place: number): number[] {
  const found: number[] = [];
  for (let at = tree.parents[place] ?? -1; at >= 0; at = tree.parents[at] ?? -1) {
    if (collapsed[at] === 1) found.push(at);
  }
  return found;
}

/** The highest of some indexes that is an ancestor of another one; -1 if none is. */
export function hider(tree: Tree, places: readonly number[], place: number): number {
  const wanted = new Set(places);
  let found = -1;
  for (let at = tree.parents[place] ?? -1; at >= 0; at = tree.parents[at] ?? -1) {
    if (wanted.has(at)) found = at;
  }
  return found;
}
