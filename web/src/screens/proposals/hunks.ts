// The hunks of a proposal as rows: old and new lines side by side, with their numbers.
import type { ShownFile } from "../../api/schema";

export interface Line {
  number: number;
  text: string;
  /** The line has no line end: it is the last of a file. */
  unended: boolean;
}

/** One row; "|" marks a changed line. */
export interface Row {
  mark: " " | "-" | "+" | "|";
  before: Line | null;
  after: Line | null;
}

export interface Hunk {
  /** The number among all hunks of the proposal, from 1, as `treadle edits` counts them. */
  number: number;
  rows: readonly Row[];
  added: number;
  removed: number;
  isDenied: boolean;
}

/**
 * The hunks of a file. The server describes each as if the others did not exist, so numbers are
 * adjusted.
 */
export function hunksOf(file: ShownFile): Hunk[] {
  let shift = 0;
  return file.hunk_diffs.map((diff, at) => {
    const number = file.first_hunk + at;
    const rows = rowsOf(diff, shift);
    const removed = rows.filter((row) => row.mark !== " " && row.before).length;
    const added = rows.filter((row) => row.mark !== " " && row.after).length;
    shift += added - removed;
    return { number, rows, added, removed, isDenied: file.denied_hunks.includes(number) };
  });
}

/** The rows of a unified diff of one file; `shift` is added to the numbers of new lines. */
export function rowsOf(diff: string, shift = 0): Row[] {
  const rows: Row[] = [];
  const reading = { before: 0, after: 0, removed: [] as Line[], added: [] as Line[] };
  let last: Line[] = [];
  let isInside = false;
  for (const line of linesOf(diff)) {
    const head = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line);
    if (head) {
      put(rows, reading);
      reading.before = Number(head[1]);
      reading.after = Number(head[2]) + shift;
      isInside = true;
      continue;
    }
    if (!isInside) continue;
    const text = line.slice(1);
    switch (line[0]) {
      case "-":
        last = [{ number: reading.before++, text, unended: false }];
        reading.removed.push(...last);
        break;
      case "+":
        last = [{ number: reading.after++, text, unended: false }];
        reading.added.push(...last);
        break;
      case "\\":
        for (const each of last) each.unended = true;
        break;
      default: {
        put(rows, reading);
        const before = { number: reading.before++, text, unended: false };
        const after = { number: reading.after++, text, unended: false };
        last = [before, after];
        rows.push({ mark: " ", before, after });
      }
    }
  }
  put(rows, reading);
  return rows;
}

/** Removed lines next to the added lines that replace them. */
function put(rows: Row[], reading: { removed: Line[]; added: Line[] }): void {
  const { removed, added } = reading;
  for (let at = 0; at < Math.max(removed.length, added.length); at += 1) {
    const before = removed[at] ?? null;
    const after = added[at] ?? null;
    rows.push({ mark: before && after ? "|" : before ? "-" : "+", before, after });
  }
  reading.removed = [];
  reading.added = [];
}

function linesOf(text: string): string[] {
  const lines = text.split("\n");
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

/** The rows as one column: removed lines before added ones, as in `diff -u`. */
export function inOneColumn(rows: readonly Row[]): Row[] {
  const found: Row[] = [];
  let added: Row[] = [];
  for (const row of rows) {
    if (row.mark === " ") {
      found.push(...added, row);
      added = [];
      continue;
    }
    if (row.before) found.push({ mark: "-", before: row.before, after: null });
    if (row.after) added.push({ mark: "+", before: null, after: row.after });
  }
  return [...found, ...added];
}
