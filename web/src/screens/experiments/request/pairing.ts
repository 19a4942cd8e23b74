// Pairs the entries of two lists: equal ones first, then those between by position.
import { diffArrays } from "diff";
import { type Json, same } from "./json";

export interface Pair {
  /** Indexes in the two lists; null if only the other list has an entry. */
  before: number | null;
  after: number | null;
}

const MOST = 400; // the product of the lengths: more would take too long

export function pairs(before: readonly Json[], after: readonly Json[]): Pair[] {
  if (before.length + after.length > MOST) return byPlace(0, before.length, 0, after.length);
  const found: Pair[] = [];
  let one = 0;
  let other = 0;
  let removed = 0;
  for (const change of diffArrays([...before], [...after], { comparator: same })) {
    const size = change.value.length;
    if (change.removed) {
      removed = size;
    } else if (change.added) {
      found.push(...byPlace(one, one + removed, other, other + size));
      one += removed;
      other += size;
      removed = 0;
    } else {
      found.push(...byPlace(one, one + removed, other, other));
      one += removed;
      removed = 0;
      found.push(...byPlace(one, one + size, other, other + size));
      one += size;
      other += size;
    }
  }
  return [...found, ...byPlace(one, one + removed, other, other)];
}

function byPlace(from: number, to: number, otherFrom: number, otherTo: number): Pair[] {
  const longest = Math.max(to - from, otherTo - otherFrom);
  return Array.from({ length: longest }, (_, place) => ({
    before: from + place < to ? from + place : null,
    after: otherFrom + place < otherTo ? otherFrom + place : null,
  }));
}
