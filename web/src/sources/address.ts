// Lines of a file in the address of the page: "src/calc.py:3-9".
import type { SourceRange } from "../api/schema";

export interface SourceSearch {
  /** The lines that a dialog shows. */
  source?: string;
}

export interface Lines {
  file: string;
  first: number;
  last: number;
}

export function sourceText({ file, start_line, end_line }: SourceRange): string {
  return `${file}:${start_line}-${end_line}`;
}

/** The lines that such a text names; null if it names none. */
export function linesIn(text: string): Lines | null {
  const found = /^(.+):(\d{1,9})-(\d{1,9})$/s.exec(text);
  if (!found) return null;
  const [, file = "", first, last] = found;
  const lines = { file, first: Number(first), last: Number(last) };
  return lines.first >= 1 && lines.last >= lines.first ? lines : null;
}
