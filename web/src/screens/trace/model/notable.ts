// Notable spans: the slowest by their own time, the failed ones, and the totals.
import { isModelCall } from "../../../format/calls";
import { FLAG, has, type Tree, textAt } from "./tree";

const SLOWEST = 3;
const ENOUGH = 4; // in smaller traces no span is called slow

/** The rank of the slowest spans by their own time, without that of their children. */
export function slowestPlaces(tree: Tree): ReadonlyMap<number, number> {
  if (tree.count < ENOUGH) return new Map();
  const own = ownTimes(tree);
  const best: number[] = [];
  for (let place = 0; place < tree.count; place += 1) {
    const time = own[place] ?? 0;
    if (time <= 0 || (best.length === SLOWEST && time <= (own[best.at(-1) ?? 0] ?? 0))) continue;
    best.push(place);
    best.sort((one, other) => (own[other] ?? 0) - (own[one] ?? 0));
    best.length = Math.min(best.length, SLOWEST);
  }
  return new Map(best.map((place, at) => [place, at + 1]));
}

/** The time of each span in which none of its children ran. Children are ordered by their start. */
export function ownTimes(tree: Tree): Float64Array {
  const own = new Float64Array(tree.count);
  const covered = Float64Array.from(tree.starts); // the end of the counted children
  for (let place = 0; place < tree.count; place += 1) {
    if (has(tree, place, FLAG.missing)) continue;
    const [start, stop] = [tree.starts[place] ?? 0, tree.stops[place] ?? 0];
    own[place] = (own[place] ?? 0) + stop - start;
    const parent = tree.parents[place] ?? -1;
    if (parent < 0 || has(tree, parent, FLAG.missing)) continue;
    const from = Math.max(start, covered[parent] ?? 0);
    const to = Math.min(stop, tree.stops[parent] ?? 0);
    if (to <= from) continue;
    own[parent] = (own[parent] ?? 0) - (to - from);
    covered[parent] = to;
  }
  return own;
}

export interface Sums {
  /** Each fault once, at the innermost failed span. */
  failed: readonly number[];
  unfinished: number;
  input: number | null;
  output: number | null;
  /** US dollars. */
  cost: number | null;
  /** Model calls of unknown cost. */
  unpriced: number;
}

/** The outcomes of calls that may have been charged, as in the totals of the server. */
const REPLIED = new Set(["ok", "cancelled"]);

const known = new WeakMap<Tree, Sums>();

export function sumsOf(tree: Tree): Sums {
  const sums = known.get(tree) ?? summedUp(tree);
  known.set(tree, sums);
  return sums;
}

function summedUp(tree: Tree): Sums {
  const failed = faults(tree);
  const sums = { unfinished: 0, unpriced: 0 };
  let [input, output, cost]: (number | null)[] = [null, null, null];
  for (let place = 0; place < tree.count; place += 1) {
    if (has(tree, place, FLAG.unfinished)) sums.unfinished += 1;
    const isCall = isModelCall(textAt(tree, tree.kinds, place));
    if (!isCall || has(tree, place, FLAG.uncounted | FLAG.elsewhere)) continue;
    input = plus(input, tree.inputTokens[place]);
    output = plus(output, tree.outputTokens[place]);
    cost = plus(cost, tree.costs[place]);
    if (tree.costs[place] == null && REPLIED.has(textAt(tree, tree.statuses, place)))
      sums.unpriced += 1;
  }
  const dollars = cost == null ? null : cost / 1e9;
  return { failed, ...sums, input: input ?? null, output: output ?? null, cost: dollars };
}

/** The failed spans without those that contain another failed span: the failure reached them. */
function faults(tree: Tree): number[] {
  const around = new Set<number>();
  const failed: number[] = [];
  for (let place = tree.count - 1; place >= 0; place -= 1) {
    const isFailed = textAt(tree, tree.statuses, place) === "error";
    if (!isFailed && !around.has(place)) continue;
    if (isFailed && !around.has(place)) failed.push(place);
    around.add(tree.parents[place] ?? -1);
  }
  return failed.reverse();
}

function plus(sum: number | null | undefined, value: number | null | undefined): number | null {
  if (value == null) return sum ?? null;
  return (sum ?? 0) + value;
}
