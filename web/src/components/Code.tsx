// Code with the colours of its language. The text is shown at once, the colours when they are
// ready.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { count } from "../format/numbers";
import { highlighted, languageOf } from "../text/highlight";
import { cut, visible } from "../text/visible";
import { Button } from "./Button";
import styles from "./Code.module.css";

const FIRST = 20_000;
const MOST_COLOURED = 100_000; // longer code would take too long to colour
const LONGEST_COLOURED_LINE = 2_000;

interface Props {
  text: string;
  /** A language, a file name, or the info string of a fence. */
  language?: string | undefined;
  /** The number of the first line. With it, lines are numbered. */
  startLine?: number;
  label?: string;
}

export function Code({ text, language, startLine, label = "Code" }: Props) {
  const [most, setMost] = useState(FIRST);
  const { shown, left } = cut(text, most);
  const safe = visible(shown);
  const lines = useColours(safe, language) ?? safe.split("\n").map((line) => [{ content: line }]);
  return (
    <figure className={styles.figure} aria-label={label}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard */}
      <pre className={styles.code} tabIndex={0}>
        {lines.map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the index identifies a line
          <div key={index} className={styles.line}>
            {startLine !== undefined && <span className={styles.number}>{startLine + index}</span>}
            <span className={styles.content}>
              <Pieces pieces={line} />
            </span>
          </div>
        ))}
      </pre>
      {left > 0 && (
        <Button small onPress={() => setMost(most * 4)}>
          Show more ({count(left)} characters left)
        </Button>
      )}
    </figure>
  );
}

export interface Piece {
  content: string;
  color?: string;
}

export function Pieces({ pieces }: { pieces: readonly Piece[] }) {
  if (pieces.length === 0) return "\n";
  // biome-ignore lint/suspicious/noArrayIndexKey: the index identifies a token
  return pieces.map((piece, place) => <Token key={place} token={piece} />);
}

function Token({ token }: { token: Piece }) {
  return token.color ? <span style={{ color: token.color }}>{token.content}</span> : token.content;
}

/** The lines of a text in the colours of its language; undefined until they are ready. */
export function useColours(text: string, language: string | undefined): Piece[][] | undefined {
  const known = language ? languageOf(language) : null;
  const small =
    text.length <= MOST_COLOURED &&
    !text.split("\n").some((line) => line.length > LONGEST_COLOURED_LINE);
  const found = useQuery({
    queryKey: ["colours", known, text],
    queryFn: () => highlighted(text, known ?? ""),
    enabled: known !== null && small,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return found.data ?? undefined;
}
