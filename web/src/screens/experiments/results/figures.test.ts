import { describe, expect, it } from "vitest";
import { cost, duration } from "../../../format/numbers";
import {
  median,
  percentage,
  reachOf,
  signed,
  whyNoInterval,
  whyUnknown,
  withMinus,
} from "./figures";

const none = { n: 0, base: null, new: null, mean: null, low: null, high: null, percent: null };

describe("figures", () => {
  it("have their sign, and a dash where they are unknown", () => {
    expect(signed(1_200_000, duration)).toBe("+1.20 s");
    expect(signed(-0.0012, cost)).toBe("−$0.001200");
    expect(signed(0, cost)).toBe("$0.0000");
    expect(signed(null, cost)).toBe("–");
    expect(percentage(-48.37)).toBe("−48.4 %");
    expect(percentage(3)).toBe("+3.0 %");
    expect(percentage(null)).toBe("–");
  });

  it("have one minus, also in sentences of the server, but names keep their hyphens", () => {
    expect(withMinus("Tokens -39.0 % (n = 5); cost +2 %.")).toBe(
      "Tokens −39.0 % (n = 5); cost +2 %.",
    );
    expect(withMinus("gpt-5 -x 3 -4 of")).toBe("gpt-5 -x 3 -4 of");
  });

  it("say why there is none", () => {
    expect(whyUnknown(none)).toBe("Unknown for every pair.");
    expect(whyUnknown({ ...none, n: 2, base: 0, new: 3, mean: 3 })).toContain("The base is 0");
    expect(whyUnknown({ ...none, n: 2, base: 1, new: 2, mean: 1, percent: 100 })).toBe(null);
    expect(whyNoInterval({ ...none, n: 3, mean: 1 })).toContain("5 pairs");
    expect(whyNoInterval(none)).toBe(null);
  });

  it("have a median of what is known", () => {
    expect(median([3, null, 1, 2])).toBe(2);
    expect(median([4, 1, 2, 3])).toBe(2.5);
    expect(median([null])).toBe(null);
  });

  it("share an axis that holds all of them", () => {
    expect(reachOf([none, { ...none, mean: 1, low: -7, high: 3 }])).toBe(7);
    expect(reachOf([])).toBe(0);
  });
});
