// The axis of a chart over time.
import { expect, test } from "vitest";
import { heightRange, rangeOf } from "./timeRange";

test("the first and the last bar are shown whole", () => {
  expect(rangeOf([5_400, 9_000, 12_600], 3_600)).toEqual([3_600, 14_400]);
});

test("a single bar has its own time below it, not years", () => {
  expect(rangeOf(Float64Array.of(5_400), 3_600)).toEqual([3_600, 7_200]);
});

test("with nothing to show there is an axis", () => {
  expect(rangeOf([], 3_600)).toEqual([-1_800, 1_800]);
});

test("bars begin at zero, however close together they are", () => {
  expect(heightRange(1_000, 1_010)[0]).toBe(0);
  expect(heightRange(1_000, 1_010)[1]).toBeGreaterThan(1_010);
  expect(heightRange(null, null)).toEqual([0, 1]);
});
