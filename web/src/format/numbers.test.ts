// Numbers in a readable form, of any size.
import { expect, test } from "vitest";
import { cost, duration } from "./numbers";

const HOUR = 3_600_000_000;

test.each([
  [850, "850 µs"],
  [12_300, "12.3 ms"],
  [200_000_000, "3 m 20 s"],
  [2 * HOUR + 300_000_000, "2 h 5 m"],
  [47.99 * HOUR, "47 h 59 m"],
  [76 * HOUR, "3 d 4 h"],
  [2_400 * HOUR, "100 d"],
  [20_706.4 * 24 * HOUR, "20,706 d"], // a span that began in 1970, because its clock stood still
])("%d µs are %s", (microseconds, text) => {
  expect(duration(microseconds)).toBe(text);
});

test.each([
  [null, "–"],
  [0, "$0.0000"],
  [0.00000008, "<$0.000001"],
  [0.000954, "$0.000954"],
  [0.0045, "$0.004500"],
  [0.0896, "$0.0896"],
  [12.5, "$12.5000"],
])("%d dollars are %s, as in a report", (dollars, text) => {
  expect(cost(dollars)).toBe(text);
});
