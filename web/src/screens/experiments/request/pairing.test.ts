import { describe, expect, it } from "vitest";
import { pairs } from "./pairing";

function told(before: string[], after: string[]): string[] {
  return pairs(before, after).map(
    (pair) =>
      `${pair.before === null ? "-" : before[pair.before]}|${pair.after === null ? "-" : after[pair.after]}`,
  );
}

describe("pairs", () => {
  it("stand the same beside the same, and what changed in its place", () => {
    expect(told(["s", "u", "a"], ["s", "u2", "a"])).toEqual(["s|s", "u|u2", "a|a"]);
    expect(told(["u", "a"], ["s", "u", "a"])).toEqual(["-|s", "u|u", "a|a"]);
    expect(told(["s", "u", "a"], ["u", "a"])).toEqual(["s|-", "u|u", "a|a"]);
    expect(told(["a", "b"], ["x"])).toEqual(["a|x", "b|-"]);
    expect(told([], ["x"])).toEqual(["-|x"]);
    expect(told([], [])).toEqual([]);
  });

  it("name every entry once, whatever the lists are", () => {
    const random = seeded(11);
    for (let round = 0; round < 500; round += 1) {
      const before = letters(random);
      const after = letters(random);
      const found = pairs(before, after);
      expect(found.flatMap((each) => each.before ?? [])).toEqual(before.map((_, place) => place));
      expect(found.flatMap((each) => each.after ?? [])).toEqual(after.map((_, place) => place));
    }
  });
});

function letters(random: () => number): string[] {
  return Array.from(
    { length: Math.floor(random() * 6) },
    () => "abc"[Math.floor(random() * 3)] ?? "a",
  );
}

/** Park and Miller's generator: the same numbers every time. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
