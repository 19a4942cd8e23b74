// How hostile text is shown.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { cut, visible, withQuotesAsRecorded } from "./visible";

test("a terminal escape is shown as a sign", () => {
  expect(visible("\u001b[31mred\u0007")).toBe("␛[31mred␇");
});

test("marks of direction cannot turn the text around", () => {
  expect(visible("abc\u202Edef")).toBe("abc‹U+202E›def");
});

test("words that are written in tags, soft hyphens and other signs of no width are seen", () => {
  expect(visible("a\u{E0069}\u{E006E}b\u00ADc\u061Cd\u2028e")).toBe(
    "a‹U+E0069›‹U+E006E›b‹U+00AD›c‹U+061C›d‹U+2028›e",
  );
});

test("fillers and variations, which names in code may hide in, are seen", () => {
  expect(visible("a\u3164b\u115Fc\uFE00d\u{E0100}e\u034F")).toBe(
    "a‹U+3164›b‹U+115F›c‹U+FE00›d‹U+E0100›e‹U+034F›",
  );
});

test("line ends, tabs, emoji and right-to-left letters stay", () => {
  const text = "a\n\tb\r\n👩‍🚀 ❤️ שלום é";
  expect(visible(text)).toBe(text);
});

test("half a surrogate pair is named", () => {
  expect(visible("x\ud83dy")).toBe("x‹U+D83D›y");
});

test("what the server escaped in a quote is shown as it was, and safely", () => {
  const told = 'It says "\\u{3c}b\\u{3e} \\u{202e} \\u{5c}u{3c} \\u{110000}".';
  expect(visible(withQuotesAsRecorded(told))).toBe('It says "<b> ‹U+202E› \\u{3c} \\u{110000}".');
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

test("the page and the server hide the same characters", () => {
  const module = readFileSync("../src/treadle/visible.py", "utf-8");
  const constant = (name: string) => {
    const value = new RegExp(`^${name} = (?:"([^"]*)"|\\(([^)]*)\\))`, "m").exec(module);
    const written =
      value?.[1] ?? [...(value?.[2] ?? "").matchAll(/"([^"]*)"/g)].map((m) => m[1]).join("");
    return written.replace(/\\U0*([0-9a-f]+)/g, "\\u{$1}");
  };
  const ranges = constant("_CONTROLS") + constant("_UNSEEN");
  const hidden = new RegExp(`[${ranges}]`, "u");
  const differing = [];
  for (let code = 0; code <= 0x10ffff; code++) {
    const character = String.fromCodePoint(code);
    if ((visible(character) !== character) !== hidden.test(character)) differing.push(code);
  }
  // A page shows a carriage return as a space; on a terminal it would hide the line before it.
  expect(differing).toEqual([0x0d]);
});
