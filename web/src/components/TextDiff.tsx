// The difference between two texts: line by line, and within changed lines word by word.
import { diffLines, diffWordsWithSpace } from "diff";
import { useMemo } from "react";
import { visible } from "../text/visible";
import styles from "./TextDiff.module.css";

const MOST = 50_000; // longer texts would take too long to compare
const MOST_MS = 300;

interface Props {
  before: string;
  after: string;
}

interface Piece {
  kind: "same" | "added" | "removed";
  text: string;
}

export function TextDiff({ before, after }: Props) {
  const pieces = useMemo(() => compared(before, after), [before, after]);
  if (before === after) return <p className={styles.about}>No difference.</p>;
  if (pieces === null) {
    return <p className={styles.about}>The texts are too long to compare here.</p>;
  }
  return (
    <div className={styles.diff} dir="auto">
      {pieces.map((piece, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the index identifies a part
        <Shown key={place} piece={piece} />
      ))}
    </div>
  );
}

function Shown({ piece }: { piece: Piece }) {
  const text = visible(piece.text);
  if (piece.kind === "same") return text;
  return piece.kind === "added" ? (
    <ins className={styles.added}>{text}</ins>
  ) : (
    <del className={styles.removed}>{text}</del>
  );
}

/** The parts in order; null if the comparison would take too long. */
export function compared(before: string, after: string): Piece[] | null {
  if (before.length + after.length > MOST) return lineByLine(before, after);
  const words = diffWordsWithSpace(before, after, { timeout: MOST_MS });
  return words ? words.map(pieceOf) : lineByLine(before, after);
}

function lineByLine(before: string, after: string): Piece[] | null {
  return diffLines(before, after, { timeout: MOST_MS })?.map(pieceOf) ?? null;
}

function pieceOf(change: { added?: boolean; removed?: boolean; value: string }): Piece {
  const kind = change.added ? "added" : change.removed ? "removed" : "same";
  return { kind, text: change.value };
}
