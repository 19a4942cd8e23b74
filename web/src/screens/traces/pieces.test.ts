import { expect, test } from "vitest";
import { pieces } from "./pieces";

const shown = (excerpt: string, ranges: number[][]) =>
  pieces(excerpt, ranges)
    .map(({ text, isFound }) => (isFound ? `[${text}]` : text))
    .join("");

test("what was found is marked, and nothing is lost", () => {
  expect(
    shown("a timeout, a Timeout", [
      [2, 9],
      [13, 20],
    ]),
  ).toBe("a [timeout], a [Timeout]");
  expect(shown("timeout", [[0, 7]])).toBe("[timeout]");
  expect(shown("nothing", [])).toBe("nothing");
});

test("a range counts whole characters, not the halves that JavaScript has", () => {
  expect(shown("😀 café 😀x", [[2, 6]])).toBe("😀 [café] 😀x");
});

test("pieces begin at the given character", () => {
  const cut = pieces("😀 far before a timeout", [[15, 22]], 12);
  expect(cut.map(({ text }) => text)).toEqual([" a ", "timeout"]);
});
