import { expect, test } from "vitest";
import type { ShownFile } from "../../api/schema";
import { hunksOf, inOneColumn, type Row, rowsOf } from "./hunks";

const HEAD = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n";

function told(rows: readonly Row[]): string[] {
  const side = (line: Row["before"]) =>
    line ? `${line.number} ${line.text}${line.unended ? " (no end)" : ""}` : "";
  return rows.map((row) => `${side(row.before)} ${row.mark} ${side(row.after)}`.trim());
}

test("changed lines stand beside each other, others alone", () => {
  const diff = `${HEAD}@@ -3,4 +3,5 @@\n one\n-two\n-three\n+TWO\n+THREE\n+more\n last\n`;
  expect(told(rowsOf(diff))).toEqual([
    "3 one   3 one",
    "4 two | 4 TWO",
    "5 three | 5 THREE",
    "+ 6 more",
    "6 last   7 last",
  ]);
});

test("in one column what is removed comes before what is added", () => {
  const rows = rowsOf(`${HEAD}@@ -1,2 +1,2 @@\n-a\n-b\n+A\n+B\n`);
  expect(told(inOneColumn(rows))).toEqual(["1 a -", "2 b -", "+ 1 A", "+ 2 B"]);
});

test("a line without an end is told, on the side where it is", () => {
  const rows = rowsOf(`${HEAD}@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n`);
  expect(told(rows)).toEqual(["1 a (no end) | 1 a"]);
});

test("lines that look like headers are content once the hunk has begun", () => {
  const rows = rowsOf(`${HEAD}@@ -1,2 +1,2 @@\n---- a/x\n++++ b/x\n \n`);
  expect(told(rows)).toEqual(["1 --- a/x | 1 +++ b/x", "2    2"]);
});

test("hunks are numbered through all files, and later ones know what earlier ones moved", () => {
  const file = {
    first_hunk: 4,
    denied_hunks: [5],
    hunk_diffs: [`${HEAD}@@ -1,1 +1,3 @@\n-a\n+a\n+b\n+c\n`, `${HEAD}@@ -9,1 +9,1 @@\n-x\n+y\n`],
  } as ShownFile;
  const hunks = hunksOf(file);
  expect(
    hunks.map(({ number, added, removed, isDenied }) => [number, added, removed, isDenied]),
  ).toEqual([
    [4, 3, 1, false],
    [5, 1, 1, true],
  ]);
  expect(told(hunks[1]?.rows ?? [])).toEqual(["9 x | 11 y"]);
});

test("every line of a diff is in the rows once, however it is shown", () => {
  const pieces = [" ", "-", "+"];
  for (let seed = 1; seed <= 200; seed += 1) {
    let state = seed;
    const next = () => {
      state = (state * 48271) % 2147483647;
      return state;
    };
    const lines = Array.from({ length: next() % 30 }, (_, at) => `${pieces[next() % 3]}l${at}`);
    const rows = rowsOf(`${HEAD}@@ -1,9 +1,9 @@\n${lines.map((line) => `${line}\n`).join("")}`);
    for (const shown of [rows, inOneColumn(rows)]) {
      const old = shown.flatMap((row) => (row.before ? [row.before.text] : []));
      const now = shown.flatMap((row) => (row.after ? [row.after.text] : []));
      const of = (mark: string) =>
        lines.filter((line) => line[0] === " " || line[0] === mark).map((line) => line.slice(1));
      expect(old).toEqual(of("-"));
      expect(now).toEqual(of("+"));
    }
  }
});
