import { expect, test } from "vitest";
import type { QueryTerm } from "../../api/schema";
import {
  chosenValues,
  leftOut,
  replaced,
  toggled,
  toggledOut,
  withLabels,
  written,
} from "./editing";

/** Terms as the server would parse them. None of these contains spaces. */
function read(text: string): QueryTerm[] {
  return [...text.matchAll(/\S+/g)].map((found) => {
    const [, sign = "", name = "text", operator = ":", rest = ""] =
      /^(-?)(?:([a-z]+)(:|>))?(.*)$/.exec(found[0]) ?? [];
    const start = found.index;
    const end = start + found[0].length;
    let at = end - rest.length;
    const values = rest.split(",").map((value) => {
      const place = { start: at, end: at + value.length };
      at += value.length + 1;
      return { text: value.replaceAll('"', ""), wildcard: value.includes("*"), ...place };
    });
    return { start, end, field: name, operator, negated: sign === "-", values };
  });
}

const toggle = (text: string, field: string, value: string) =>
  toggled(text, read(text), field, value);

test("a choice is added to the term of its field, or as a new one", () => {
  expect(toggle("", "status", "error")).toBe("status:error");
  expect(toggle("cost>1 ", "status", "error")).toBe("cost>1 status:error");
  expect(toggle("status:ok cost>1", "status", "error")).toBe("status:ok,error cost>1");
});

test("a choice is taken out, with its term where it was the only one", () => {
  expect(toggle("a status:error b", "status", "error")).toBe("a b");
  expect(toggle("status:ok,error,denied b", "status", "error")).toBe("status:ok,denied b");
  expect(toggle("status:error b status:error,ok", "status", "error")).toBe("b status:ok");
});

test("a value is left out by a term of its own, and once more no longer", () => {
  const leave = (text: string, value: string) => toggledOut(text, read(text), "label", value);
  expect(leave("", "eval")).toBe("-label:eval");
  expect(leave("label:shop,eval cost>1", "eval")).toBe("label:shop cost>1 -label:eval");
  expect(leave("-label:a x -label:b", "a")).toBe("x -label:b");
  expect(leave("x", 'odd "one"')).toBe('x -label:"odd \\"one\\""');
  expect(leftOut(read("-label:a label:b -label:c,d -label:e* -label:f"), "label")).toEqual(
    new Set(["a", "f"]),
  );
});

test("choosing twice gives the same text again", () => {
  for (const text of ["", "x", "status:ok x", "status:ok,denied cost>1"]) {
    expect(toggle(toggle(text, "status", "error"), "status", "error")).toBe(text);
  }
});

test("what is turned round, compared or a pattern is no choice, and stays", () => {
  const text = "-model:x model:g* cost>1";
  expect(chosenValues(read(text), "model").size).toBe(0);
  expect(toggle(text, "model", "x")).toBe("-model:x model:g* cost>1 model:x");
});

test("a value that would be read otherwise is put in quotes", () => {
  expect(written("gpt-5.4")).toBe("gpt-5.4");
  expect(written("a b")).toBe('"a b"');
  expect(written("a*")).toBe('"a*"');
  expect(written(">a")).toBe('">a"');
  expect(written('say "x\\y"')).toBe('"say \\"x\\\\y\\""');
  expect(written("")).toBe('""');
});

test("a time takes the place of all others", () => {
  const text = "since:1d a until:today b";
  const fields = ["since", "until", "period", "start"];
  expect(replaced(text, read(text), fields, "period:last_hour")).toBe("a b period:last_hour");
  expect(replaced(text, read(text), fields, "")).toBe("a b");
});

test("labels are set without touching the rest", () => {
  const text = "label:a x -label:z label:b";
  expect(withLabels(text, read(text), ["c", "d e"])).toBe('x -label:z label:c,"d e"');
  expect(withLabels(text, read(text), [])).toBe("x -label:z");
});
