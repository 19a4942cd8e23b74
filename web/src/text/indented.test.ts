// A request with line breaks is still the same request.
import { expect, test } from "vitest";
import { indented } from "./indented";

test("each item has its line, empty ones none", () => {
  const text = '{"a":[1,{"b":null}],"c":{},"d":[ ],"e":"x, {y}: \\" z"}';
  expect(indented(text)).toBe(JSON.stringify(JSON.parse(text), null, 2));
});

test("what numbers, escapes and double names say stays as it is written", () => {
  const text = '{"seed":12345678901234567890,"x":1e400,"y":0.10,"z":"\\u0041","z":"\\/"}';
  expect(indented(text).replace(/\s/g, "")).toBe(text);
});

test("text that has lines already gets them anew", () => {
  expect(indented(' {\n\t"a" : [ ]\r\n} ')).toBe('{\n  "a": []\n}');
});

test("what is nested deeply stays of a size that can be shown", () => {
  const deep = `${"[".repeat(2_000)}1${"]".repeat(2_000)}`;
  expect(indented(deep).length).toBeLessThan(300_000);
  expect(indented(deep).replace(/\s/g, "")).toBe(deep);
});

test("long strings are no trouble", () => {
  const text = JSON.stringify([`${'\\"'.repeat(500_000)}`]);
  expect(JSON.parse(indented(text))).toEqual(JSON.parse(text));
});
