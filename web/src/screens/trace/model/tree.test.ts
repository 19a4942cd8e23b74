// Properties of every tree, whatever its shape: subtrees, rows, own times, the critical path.
import { expect, test } from "vitest";
import { criticalPath } from "./criticalPath";
import { random, randomSkeleton, skeletonOf } from "./making";
import { ownTimes, slowestPlaces, sumsOf } from "./notable";
import { collapsedPlaces, hiding, rowsOf, shownPlace } from "./rows";
import { FLAG, has, nameAt, placeOf, shownNameAt, type Tree, treeOf } from "./tree";

const SEEDS = Array.from({ length: 200 }, (_, seed) => seed);

function ancestors(tree: Tree, place: number): number[] {
  const found = [];
  for (let at = tree.parents[place] ?? -1; at >= 0; at = tree.parents[at] ?? -1) found.push(at);
  return found;
}

test("a subtree is exactly the range of those that have it above them", () => {
  for (const seed of SEEDS) {
    const tree = treeOf(randomSkeleton(seed));
    for (let place = 0; place < tree.count; place += 1) {
      const below = Array.from({ length: tree.count }, (_, at) => at).filter((at) =>
        ancestors(tree, at).includes(place),
      );
      const end = tree.ends[place] ?? 0;
      expect(below).toEqual(Array.from({ length: end - place - 1 }, (_, at) => place + 1 + at));
    }
  }
});

test("siblings are numbered from 1 to how many they are", () => {
  for (const seed of SEEDS) {
    const tree = treeOf(randomSkeleton(seed));
    for (let parent = -1; parent < tree.count; parent += 1) {
      const children = [...tree.parents.keys()].filter((at) => tree.parents[at] === parent);
      expect(children.map((at) => tree.numbers[at])).toEqual(children.map((_, at) => at + 1));
      expect(children.every((at) => tree.siblings[at] === children.length)).toBe(true);
    }
  }
});

test("a row is shown unless something above it is collapsed, and rows keep their order", () => {
  for (const seed of SEEDS) {
    const tree = treeOf(randomSkeleton(seed));
    const next = random(seed + 1_000);
    const collapsed = collapsedPlaces(
      tree,
      tree.ids.filter(() => next() < 0.3),
    );
    const rows = rowsOf(tree, collapsed);
    const expected = [...tree.parents.keys()].filter(
      (at) => !ancestors(tree, at).some((above) => collapsed[above] === 1),
    );
    expect([...rows.places]).toEqual(expected);
    for (let place = 0; place < tree.count; place += 1) {
      const shown = shownPlace(tree, rows, place);
      expect(rows.rowOf[shown]).toBeGreaterThanOrEqual(0);
      expect(hiding(tree, collapsed, place).length === 0).toBe(shown === place);
    }
  }
});

test("own times are never negative", () => {
  for (const seed of SEEDS) {
    const tree = treeOf(randomSkeleton(seed));
    expect(ownTimes(tree).every((time) => time >= 0)).toBe(true);
  }
});

test("the critical path reaches the end, never runs beside itself, and holds whole branches", () => {
  for (const seed of SEEDS) {
    const tree = treeOf(randomSkeleton(seed));
    const path = criticalPath(tree);
    const last = [...tree.stops].indexOf(Math.max(...tree.stops));
    expect(ancestors(tree, last).at(-1) ?? last).toSatisfy((root: number) => path[root] === 1);
    for (let place = 0; place < tree.count; place += 1) {
      if (path[place] !== 1) continue;
      expect(ancestors(tree, place).every((above) => path[above] === 1)).toBe(true);
    }
  }
});

test("of two that ran side by side the one that ended last is critical, and what led to it", () => {
  const tree = treeOf(
    skeletonOf([
      { depth: 0, start: 0, duration: 100 },
      { depth: 1, start: 0, duration: 30 }, // first
      { depth: 1, start: 30, duration: 20 }, // in parallel to the next, done earlier
      { depth: 1, start: 30, duration: 60 },
      { depth: 2, start: 40, duration: 50 },
    ]),
  );
  expect([...criticalPath(tree)]).toEqual([1, 1, 0, 1, 1]);
});

test("a call that began after the span that asked for it had ended is on the path", () => {
  const tree = treeOf(
    skeletonOf([
      { depth: 0, start: 0, duration: 100 },
      { depth: 1, start: 0, duration: 10 },
      { depth: 2, start: 20, duration: 60, flags: FLAG.outsideParent },
    ]),
  );
  expect([...criticalPath(tree)]).toEqual([1, 1, 1]);
  expect(has(tree, 2, FLAG.beforeParent)).toBe(false);
});

test("what began before its parent is drawn within it and marked", () => {
  const tree = treeOf(
    skeletonOf([
      { depth: 0, start: 50, duration: 100 },
      { depth: 1, start: 10, duration: 60 },
    ]),
  );
  expect(has(tree, 1, FLAG.beforeParent)).toBe(true);
  expect([tree.starts[1], tree.stops[1]]).toEqual([50, 70]);
});

test("a parent that never arrived reaches over its children, an unfinished span to the end", () => {
  const tree = treeOf(
    skeletonOf([
      { depth: 0, start: null, flags: FLAG.missing },
      { depth: 1, start: 20, duration: 10 },
      { depth: 1, start: 5, duration: 5 },
      { depth: 0, start: 10, duration: null, flags: FLAG.unfinished },
    ]),
  );
  expect([tree.starts[0], tree.stops[0]]).toEqual([5, 30]);
  expect(nameAt(tree, 0)).toBe("(never recorded)");
  expect(tree.stops[3]).toBe(tree.total);
});

test("a span that has no name is recorded all the same", () => {
  const tree = treeOf(skeletonOf([{ depth: 0, start: 0, duration: 10, name: "" }]));
  expect([nameAt(tree, 0), shownNameAt(tree, 0)]).toEqual(["(no name)", "(no name)"]);
});

test("the slowest are told by their own time, not by that of their children", () => {
  const tree = treeOf(
    skeletonOf([
      { depth: 0, start: 0, duration: 100 },
      { depth: 1, start: 0, duration: 95 },
      { depth: 2, start: 0, duration: 90 },
      { depth: 2, start: 90, duration: 4 },
    ]),
  );
  expect([...slowestPlaces(tree)]).toEqual([
    [2, 1],
    [0, 2],
    [3, 3],
  ]);
});

test("a model call around another one does not count", () => {
  const model = { kind: "model", cost: 2e9, depth: 0, start: 0 };
  const tree = treeOf(
    skeletonOf([
      { ...model, flags: FLAG.uncounted },
      { ...model, depth: 1, status: "error" },
    ]),
  );
  expect(sumsOf(tree)).toMatchObject({ cost: 2, failed: [1] });
});

test("an embedding counts as a call of a model", () => {
  const embedding = { kind: "embedding", status: "ok", depth: 0, start: 0 };
  const tree = treeOf(skeletonOf([{ ...embedding, cost: 2e9 }, { ...embedding }]));
  expect(sumsOf(tree)).toMatchObject({ cost: 2, unpriced: 1 });
});

test("places are found by id", () => {
  const tree = treeOf(randomSkeleton(3));
  expect(tree.ids.every((id, place) => placeOf(tree, id) === place)).toBe(true);
  expect([placeOf(tree, undefined), placeOf(tree, "none")]).toEqual([-1, -1]);
});
