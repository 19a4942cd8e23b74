// An excerpt of a span with marked matches.
import { visible } from "../../text/visible";
import { pieces } from "./pieces";
import styles from "./Spans.module.css";
import type { SpanRow } from "./spanColumns";

export function Excerpt({ hit }: { hit: SpanRow }) {
  if (!hit.excerpt) return null;
  return (
    <span className={styles.excerpt}>
      <span className={styles.field}>{hit.field}</span>{" "}
      {pieces(hit.excerpt, hit.ranges ?? []).map(({ from, text, isFound }) =>
        isFound ? <mark key={from}>{visible(text)}</mark> : <span key={from}>{visible(text)}</span>,
      )}
    </span>
  );
}
