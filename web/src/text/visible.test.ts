// What hostile text looks like.
import { expect, test } from "vitest";
import { cut, visible } from "./visible";

test("a terminal escape is shown as a sign", () => {
  expect(visible("\u001b[31mred\u0007")).toBe("␛[31mred␇");
});

test("marks of direction cannot turn the text around", () => {
  expect(visible("abc\u202Edef")).toBe("abc‹U+202E›def");
});

test("line ends, tabs, emoji and right-to-left letters stay", () => {
  const text = "a\n\tb\r\n👩‍🚀 שלום é";
  expect(visible(text)).toBe(text);
});

test("half a surrogate pair is named", () => {
  expect(visible("x\ud83dy")).toBe("x‹U+D83D›y");
});

test("a cut never halves a character", () => {
  for (let most = 1; most < 12; most += 1) {
    const text = "a👍b👍c👍d";
    const { shown, left } = cut(text, most);
    expect(shown + text.slice(text.length - left)).toBe(text);
    expect(shown).toBe([...shown].join(""));
    expect(visible(shown)).toBe(shown);
  }
});
