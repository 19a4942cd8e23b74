// The critical path of a trace: going back from its end, always the child that ended last.
// Shortening any other span would not have ended the trace sooner.
import type { Tree } from "./tree";

/** 1 for each index that is on the path. */
export function criticalPath(tree: Tree): Uint8Array {
  const path = new Uint8Array(tree.count);
  const extents = subtreeExtents(tree);
  const children = childrenByStop(tree, extents.to);
  const waiting: { place: number; until: number }[] = [
    { place: -1, until: Number.POSITIVE_INFINITY },
  ];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (!next) break;
    let until = next.until;
    if (next.place >= 0) path[next.place] = 1;
    for (const child of children.below(next.place)) {
      const from = extents.from[child] ?? 0;
      const to = extents.to[child] ?? 0;
      // A span that extends beyond this moment ran in parallel to the path so far.
      if (to > until) continue;
      waiting.push({ place: child, until });
      until = from;
    }
  }
  return path;
}

/** The extent of a span and everything below it: a tool's call may outlast its caller. */
function subtreeExtents(tree: Tree): { from: Float64Array; to: Float64Array } {
  const from = Float64Array.from(tree.starts);
  const to = Float64Array.from(tree.stops);
  for (let place = tree.count - 1; place >= 0; place -= 1) {
    const parent = tree.parents[place] ?? -1;
    if (parent < 0) continue;
    from[parent] = Math.min(from[parent] ?? 0, from[place] ?? 0);
    to[parent] = Math.max(to[parent] ?? 0, to[place] ?? 0);
  }
  return { from, to };
}

/** The children of each span, last ended first; of -1 the roots. */
function childrenByStop(tree: Tree, to: Float64Array): { below: (place: number) => Int32Array } {
  const first = new Int32Array(tree.count + 2);
  for (const parent of tree.parents) first[parent + 2] = (first[parent + 2] ?? 0) + 1;
  for (let at = 1; at < first.length; at += 1) first[at] = (first[at] ?? 0) + (first[at - 1] ?? 0);
  const sorted = new Int32Array(tree.count);
  const filled = first.slice();
  for (let place = 0; place < tree.count; place += 1) {
    const slot = (tree.parents[place] ?? -1) + 1;
    sorted[filled[slot] ?? 0] = place;
    filled[slot] = (filled[slot] ?? 0) + 1;
  }
  const below = (place: number) => sorted.subarray(first[place + 1], first[place + 2]);
  for (let place = -1; place < tree.count; place += 1) {
    const some = below(place);
    if (some.length > 1) some.sort((one, other) => (to[other] ?? 0) - (to[one] ?? 0));
  }
  return { below };
}
