// Numbers in a readable form. The server tests its functions with the same examples.
import { expect, test } from "vitest";
import examples from "../../../tests/traces/amounts.json";
import { cost, duration, totalCost } from "./numbers";

test.each(examples.durations as [number, string][])("%d µs are %s", (microseconds, text) => {
  expect(duration(microseconds)).toBe(text);
});

test.each(examples.costs as [number, string][])("%d dollars are %s", (dollars, text) => {
  expect(cost(dollars)).toBe(text);
});

test("an unknown cost and an unknown duration are dashes", () => {
  expect([cost(null), duration(null)]).toEqual(["–", "–"]);
});

test("the cost of a sum states that calls of unknown price are left out", () => {
  const known = [
    { cost: 0.5, unpriced: 0 },
    { cost: 0.5, unpriced: 2 },
    { cost: null, unpriced: 2 },
  ];
  expect(known.map(totalCost)).toEqual(["$0.5000", "$0.5000+", "–"]);
});
