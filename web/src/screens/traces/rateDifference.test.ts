import { expect, test } from "vitest";
import { interval, rateDifference } from "./rateDifference";

test("the interval is that of the published example", () => {
  // Newcombe 1998, table II: 56 of 70 and 48 of 80.
  const [low, high] = interval({ runs: 80, failed: 48 }, { runs: 70, failed: 56 });
  expect(low).toBeCloseTo(0.0524, 3);
  expect(high).toBeCloseTo(0.3339, 3);
});

test("a difference that chance explains is said to be so", () => {
  const few = rateDifference({ runs: 9, failed: 3 }, { runs: 500, failed: 1 });
  expect(few).toBe("too few runs to compare (fewer than 10 in a group)");
  const chance = rateDifference({ runs: 20, failed: 4 }, { runs: 20, failed: 2 });
  expect(chance).toContain("this may be chance");
  const clear = rateDifference({ runs: 200, failed: 80 }, { runs: 200, failed: 20 });
  expect(clear).toMatch(/^−30\.0 points, 95 % interval −\d+\.\d to −\d+\.\d points$/);
});
