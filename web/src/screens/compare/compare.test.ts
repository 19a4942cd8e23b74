import { expect, test } from "vitest";
import type { ComparedSpan, ComparedStep } from "../../api/schema";
import { blocksOf } from "./hunks";
import { signed } from "./signed";
import { entriesOf, stepsInWords } from "./steps";

const SPAN = { trace_id: "t", span_id: "s" } as ComparedSpan;

function step(name: string, differs: Partial<ComparedStep> = {}): ComparedStep {
  return { kind: "tool", name, depth: 0, a: SPAN, b: SPAN, changes: [], texts: [], ...differs };
}

test("only the words that differ are marked, each on its side", () => {
  const [same, changed] = blocksOf(["@@ -1,2 +1,2 @@", " one", "-two old words", "+two new words"]);
  expect(same).toEqual({
    kind: "same",
    a: [{ text: "one", differs: false }],
    b: [{ text: "one", differs: false }],
  });
  expect(changed?.a.filter((part) => part.differs)).toEqual([{ text: "old", differs: true }]);
  expect(changed?.b.map((part) => part.text).join("")).toBe("two new words");
});

test("equal lines that are left out become a gap, but not those before the first line", () => {
  const kinds = (lines: string[]) => blocksOf(lines).map((block) => block.kind);
  expect(kinds(["@@ -1 +1 @@", "-a", "+b", "@@ -9 +9 @@", "+c"])).toEqual([
    "changed",
    "gap",
    "changed",
  ]);
  expect(kinds(["@@ -8,2 +8,2 @@", " a", "-b"])).toEqual(["gap", "same", "changed"]);
});

test("equal steps in a row become one entry", () => {
  const steps = [step("a"), step("b"), step("c", { changes: ["output"] }), step("d")];
  expect(entriesOf(steps).map((entry) => [entry.kind, entry.place])).toEqual([
    ["equal", 0],
    ["step", 2],
    ["equal", 3],
  ]);
});

test("the steps are counted in words", () => {
  const steps = [step("a"), step("b", { changes: ["output"] }), step("c", { a: null })];
  expect(stepsInWords({ steps })).toBe("1 of 3 steps differs, 1 only in B");
  expect(stepsInWords({ steps: [step("a")] })).toBe(
    "All steps are equal, except for their durations",
  );
});

test("a difference has a sign, unless an amount is unknown", () => {
  expect(signed(1, 3, String)).toBe("+2");
  expect(signed(3, 1, String)).toBe("−2");
  expect(signed(null, 1, String)).toBe("");
});
