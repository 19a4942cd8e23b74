// The text of moments.
import { expect, test } from "vitest";
import { ago, tickMoment } from "./times";

const NOW = Date.UTC(2026, 10, 29, 12);
const agoOf = (seconds: number) => ago((NOW / 1_000 - seconds) * 1_000_000, NOW);

test("what was is ago, and what a clock that runs ahead says is still to come", () => {
  expect([5, 40, 180, 7_200, 400_000].map(agoOf)).toEqual([
    "now",
    "40 s ago",
    "3 min ago",
    "2 h ago",
    "5 d ago",
  ]);
  expect([-5, -40, -180, -7_200, -400_000].map(agoOf)).toEqual([
    "now",
    "in 40 s",
    "in 3 min",
    "in 2 h",
    "in 5 d",
  ]);
});

test("below an axis of years stand years, below one of days the days", () => {
  const midnight = new Date(2026, 10, 3).getTime() * 1_000;
  expect(tickMoment(midnight, 86_400)).toBe("3 Nov");
  expect(tickMoment(midnight, 86_400 * 800)).toBe("Nov 2026");
});
