// A trace as flat arrays: built once from the server's skeleton, and never changed. The server
// puts parents before their children and breaks cycles, so a subtree is a range of indexes.
import type { Skeleton } from "../../../api/schema";
import { visible } from "../../../text/visible";

/** Bits of `Tree.flags`, as in the OpenAPI document. */
export const FLAG = {
  cycle: 1,
  missing: 2,
  clockWentBack: 4,
  unfinished: 8,
  outsideParent: 16,
  uncounted: 32,
  /** Computed here: it began before its parent did, so their clocks differ. */
  beforeParent: 64,
  elsewhere: 128,
} as const;

export interface Tree {
  readonly traceId: string;
  readonly count: number;
  readonly ids: readonly string[];
  readonly texts: readonly string[];
  readonly parents: Int32Array;
  readonly depths: Int32Array;
  /** The index after the last descendant. */
  readonly ends: Int32Array;
  /** Its number among its siblings from 1, and the number of siblings. */
  readonly numbers: Int32Array;
  readonly siblings: Int32Array;
  readonly names: readonly number[];
  readonly kinds: readonly number[];
  readonly models: readonly number[];
  readonly statuses: readonly number[];
  /** Start and end of the bars, in microseconds since the start of the trace. */
  readonly starts: Float64Array;
  readonly stops: Float64Array;
  readonly durations: readonly (number | null)[];
  readonly firstTokens: readonly (number | null)[];
  readonly inputTokens: readonly (number | null)[];
  readonly outputTokens: readonly (number | null)[];
  /** Billionths of a dollar. */
  readonly costs: readonly (number | null)[];
  readonly flags: Uint8Array;
  /** Microseconds from the first start to the last known moment, at least 1. */
  readonly total: number;
}

export function treeOf(skeleton: Skeleton): Tree {
  const { columns } = skeleton;
  const count = columns.span_ids.length;
  const parents = Int32Array.from(columns.parents);
  const depths = Int32Array.from(columns.depths);
  const total = Math.max(1, skeleton.last_us - skeleton.start_us);
  return {
    traceId: skeleton.trace_id,
    count,
    ids: columns.span_ids,
    texts: skeleton.texts,
    parents,
    depths,
    ends: subtreeEnds(depths),
    ...siblingNumbers(parents),
    names: columns.names,
    kinds: columns.kinds,
    models: columns.models,
    statuses: columns.statuses,
    ...bars(columns, parents, total),
    durations: columns.durations,
    firstTokens: columns.first_tokens,
    inputTokens: columns.input_tokens,
    outputTokens: columns.output_tokens,
    costs: columns.costs,
    total,
  };
}

function subtreeEnds(depths: Int32Array): Int32Array {
  const ends = new Int32Array(depths.length).fill(depths.length);
  const open: number[] = [];
  for (let place = 0; place < depths.length; place += 1) {
    const depth = depths[place] ?? 0;
    while (open.length > 0 && (depths[open.at(-1) ?? 0] ?? 0) >= depth)
      ends[open.pop() ?? 0] = place;
    open.push(place);
  }
  return ends;
}

function siblingNumbers(parents: Int32Array): Pick<Tree, "numbers" | "siblings"> {
  const below = new Int32Array(parents.length + 1); // the last entry is for roots
  const numbers = new Int32Array(parents.length);
  const slot = (place: number) =>
    (parents[place] ?? -1) < 0 ? parents.length : (parents[place] ?? 0);
  for (let place = 0; place < parents.length; place += 1) {
    const at = slot(place);
    below[at] = (below[at] ?? 0) + 1;
    numbers[place] = below[at] ?? 0;
  }
  return { numbers, siblings: numbers.map((_, place) => below[slot(place)] ?? 0) };
}

function bars(
  columns: Skeleton["columns"],
  parents: Int32Array,
  total: number,
): Pick<Tree, "starts" | "stops" | "flags"> {
  const count = parents.length;
  const starts = new Float64Array(count);
  const stops = new Float64Array(count);
  const flags = Uint8Array.from(columns.flags);
  for (let place = 0; place < count; place += 1) {
    const start = columns.starts[place] ?? null;
    const parent = parents[place] ?? -1;
    const above = parent < 0 || columns.starts[parent] == null ? null : (starts[parent] ?? 0);
    if (start === null) continue; // nothing is known about it: its children determine it below
    const early = above !== null && start < above;
    if (early) flags[place] = (flags[place] ?? 0) | FLAG.beforeParent;
    const from = early ? above : start;
    const unfinished = ((flags[place] ?? 0) & FLAG.unfinished) !== 0;
    starts[place] = from;
    stops[place] = unfinished ? total : Math.max(from, start + (columns.durations[place] ?? 0));
  }
  extendMissing(columns, parents, starts, stops);
  return { starts, stops, flags };
}

/** A parent that never arrived extends from its first child's start to its last one's end. */
function extendMissing(
  columns: Skeleton["columns"],
  parents: Int32Array,
  starts: Float64Array,
  stops: Float64Array,
): void {
  const seen = new Set<number>();
  for (let place = 0; place < parents.length; place += 1) {
    const parent = parents[place] ?? -1;
    if (parent < 0 || columns.starts[parent] != null) continue;
    const [from, to] = [starts[place] ?? 0, stops[place] ?? 0];
    starts[parent] = seen.has(parent) ? Math.min(starts[parent] ?? 0, from) : from;
    stops[parent] = seen.has(parent) ? Math.max(stops[parent] ?? 0, to) : to;
    seen.add(parent);
  }
}

/** One of the texts of a column; empty if there is none. */
export function textAt(tree: Tree, column: readonly number[], place: number): string {
  const at = column[place] ?? -1;
  return at < 0 ? "" : (tree.texts[at] ?? "");
}

export function nameAt(tree: Tree, place: number): string {
  return textAt(tree, tree.names, place) || namelessAt(tree, place);
}

/** Not every recorder names its spans. */
function namelessAt(tree: Tree, place: number): string {
  return has(tree, place, FLAG.missing) ? "(never recorded)" : "(no name)";
}

const LONGEST_NAME = 300;
const shownNames = new WeakMap<readonly string[], Map<number, string>>();

/** The name for a row: safe, shortened, and computed once for all spans that have it. */
export function shownNameAt(tree: Tree, place: number): string {
  const recorded = textAt(tree, tree.names, place);
  if (!recorded) return namelessAt(tree, place);
  const at = tree.names[place] ?? -1;
  let known = shownNames.get(tree.texts);
  if (!known) {
    known = new Map();
    shownNames.set(tree.texts, known);
  }
  let name = known.get(at);
  if (name === undefined) {
    name = visible(recorded.slice(0, LONGEST_NAME));
    known.set(at, name);
  }
  return name;
}

export function has(tree: Tree, place: number, flag: number): boolean {
  return ((tree.flags[place] ?? 0) & flag) !== 0;
}

export function hasChildren(tree: Tree, place: number): boolean {
  return (tree.ends[place] ?? 0) > place + 1;
}

const places = new WeakMap<Tree, Map<string, number>>();

/** The index of the span with that id; -1 if there is none. */
export function placeOf(tree: Tree, spanId: string | undefined): number {
  if (spanId === undefined) return -1;
  let known = places.get(tree);
  if (!known) {
    known = new Map(tree.ids.map((id, place) => [id, place]));
    places.set(tree, known);
  }
  return known.get(spanId) ?? -1;
}
