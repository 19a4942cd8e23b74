// The difference of two texts as blocks for two columns: from the lines of a unified diff.
import { diffWordsWithSpace } from "diff";

export interface Part {
  text: string;
  /** The other side does not have it. */
  differs: boolean;
}

export interface Block {
  kind: "same" | "changed" | "gap";
  a: readonly Part[];
  b: readonly Part[];
}

const MOST_MS = 50; // for the words of one block
const MOST_CHARACTERS = 8_000; // longer blocks differ as a whole

/** The blocks in order. A gap stands for equal lines that the server left out. */
export function blocksOf(lines: readonly string[]): Block[] {
  const blocks: Block[] = [];
  let same: string[] = [];
  let removed: string[] = [];
  let added: string[] = [];
  const end = () => {
    if (same.length > 0) {
      const parts = [{ text: same.join("\n"), differs: false }];
      blocks.push({ kind: "same", a: parts, b: parts });
    }
    if (removed.length > 0 || added.length > 0) blocks.push(changed(removed, added));
    same = [];
    removed = [];
    added = [];
  };
  for (const line of lines) {
    const text = line.slice(1);
    if (line.startsWith("@@")) {
      end();
      if (!startsAtTop(line) || blocks.length > 0) blocks.push({ kind: "gap", a: [], b: [] });
    } else if (line.startsWith("-")) {
      if (same.length > 0 || added.length > 0) end();
      removed.push(text);
    } else if (line.startsWith("+")) {
      if (same.length > 0) end();
      added.push(text);
    } else {
      if (removed.length > 0 || added.length > 0) end();
      same.push(text);
    }
  }
  end();
  return blocks;
}

function startsAtTop(header: string): boolean {
  return /^@@ -[01](,\d+)? \+[01](,\d+)? @@/.test(header);
}

function changed(removed: readonly string[], added: readonly string[]): Block {
  const before = removed.join("\n");
  const after = added.join("\n");
  const isShort = before.length + after.length <= MOST_CHARACTERS;
  const words =
    before && after && isShort ? diffWordsWithSpace(before, after, { timeout: MOST_MS }) : null;
  const side = (other: "added" | "removed", whole: string): Part[] =>
    words
      ? words
          .filter((word) => !word[other])
          .map((word) => ({ text: word.value, differs: Boolean(word.added || word.removed) }))
      : whole
        ? [{ text: whole, differs: true }]
        : [];
  return { kind: "changed", a: side("added", before), b: side("removed", after) };
}
