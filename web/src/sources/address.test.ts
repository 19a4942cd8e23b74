import { expect, test } from "vitest";
import { linesIn, sourceText } from "./address";

test("a source has the same lines in an address", () => {
  const source = { file: "a b/c:4-5.py", start_line: 3, end_line: 12, name: "add", stale: false };
  expect(linesIn(sourceText(source))).toEqual({ file: "a b/c:4-5.py", first: 3, last: 12 });
});

test("an address without valid lines names no source", () => {
  for (const text of ["calc.py", "calc.py:3", "calc.py:0-3", "calc.py:5-4", ":1-2"]) {
    expect(linesIn(text)).toBe(null);
  }
});
