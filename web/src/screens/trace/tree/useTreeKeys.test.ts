// The keys of the tree, over folded and unfolded spans.
import { expect, test } from "vitest";
import { randomSkeleton, skeletonOf } from "../model/making";
import { collapsedPlaces, rowsOf } from "../model/rows";
import { treeOf } from "../model/tree";
import { actionOf, nextNamed } from "./useTreeKeys";

const tree = treeOf(
  skeletonOf([
    { depth: 0, start: 0, name: "run" },
    { depth: 1, start: 1, name: "chat one" },
    { depth: 2, start: 2, name: "tool" },
    { depth: 1, start: 3, name: "chat two" },
    { depth: 2, start: 4, name: "Tool" },
    { depth: 0, start: 5, name: "end" },
  ]),
);

function press(key: string, active: number, folded: readonly number[] = []) {
  const collapsed = collapsedPlaces(
    tree,
    folded.map((place) => `span ${place}`),
  );
  return actionOf({ tree, rows: rowsOf(tree, collapsed), collapsed, active, page: () => 3 }, key);
}

test("the arrows walk over what is shown", () => {
  expect(press("ArrowDown", 1, [1])).toEqual({ kind: "choose", place: 3 });
  expect(press("ArrowUp", 3, [1])).toEqual({ kind: "choose", place: 1 });
  expect(press("ArrowDown", 5)).toEqual({ kind: "choose", place: 5 });
  expect(press("PageDown", 0)).toEqual({ kind: "choose", place: 3 });
  expect(press("End", 0, [0])).toEqual({ kind: "choose", place: 5 });
  // Without a selection they begin at the top.
  expect(press("ArrowDown", -1)).toEqual({ kind: "choose", place: 0 });
});

test("right unfolds, then goes in; left folds, then goes out", () => {
  expect(press("ArrowRight", 1, [1])).toMatchObject({ places: [1], collapsed: false });
  expect(press("ArrowRight", 1)).toEqual({ kind: "choose", place: 2 });
  expect(press("ArrowRight", 2)).toBeNull();
  expect(press("ArrowLeft", 1)).toMatchObject({ places: [1], collapsed: true });
  expect(press("ArrowLeft", 2)).toEqual({ kind: "choose", place: 1 });
  expect(press("ArrowLeft", 5)).toBeNull();
});

test("a star unfolds all siblings that have children", () => {
  expect(press("*", 3)).toEqual({ kind: "collapse", places: [1, 3], collapsed: false });
  expect(press("*", 5)).toEqual({ kind: "collapse", places: [0], collapsed: false });
});

test("letters go to the next shown name that begins so, around the end", () => {
  const rows = rowsOf(tree, collapsedPlaces(tree, ["span 1"]));
  expect(nextNamed(tree, rows, 0, "t")).toBe(4);
  expect(nextNamed(tree, rows, 4, "c")).toBe(1);
  expect(nextNamed(tree, rows, 1, "chat t")).toBe(3);
  expect(nextNamed(tree, rows, 3, "chat t")).toBe(3);
  expect(nextNamed(tree, rows, 0, "x")).toBeNull();
});

test("down from the top reaches every row once, whatever the tree", () => {
  for (let seed = 0; seed < 50; seed += 1) {
    const made = treeOf(randomSkeleton(seed));
    const collapsed = collapsedPlaces(made, made.ids.slice(0, seed % 7));
    const rows = rowsOf(made, collapsed);
    const seen: number[] = [];
    for (let active = -1; seen.length < rows.places.length; ) {
      const action = actionOf({ tree: made, rows, collapsed, active, page: () => 5 }, "ArrowDown");
      if (action?.kind !== "choose") break;
      active = action.place;
      seen.push(active);
    }
    expect(seen).toEqual([...rows.places]);
  }
});
