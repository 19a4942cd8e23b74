// The axis of a chart over time.
import { expect, test } from "vitest";
import { rangeOf } from "./timeRange";

test("the first and the last bar are shown whole", () => {
  expect(rangeOf([5_400, 9_000, 12_600], 3_600)).toEqual([3_600, 14_400]);
});

test("a single bar has its own time below it, not years", () => {
  expect(rangeOf(Float64Array.of(5_400), 3_600)).toEqual([3_600, 7_200]);
});

test("with nothing to show there is an axis", () => {
  expect(rangeOf([], 3_600)).toEqual([-1_800, 1_800]);
});
