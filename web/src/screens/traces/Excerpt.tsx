// An excerpt of a span with marked matches. It begins shortly before the first, which stays visible.
import { visible } from "../../text/visible";
import { pieces } from "./pieces";
import styles from "./Spans.module.css";
import type { SpanRow } from "./spanColumns";

const LEAD = 20;

export function Excerpt({ hit }: { hit: SpanRow }) {
  if (!hit.excerpt) return null;
  const ranges = hit.ranges ?? [];
  const start = Math.max(0, (ranges[0]?.[0] ?? 0) - LEAD);
  return (
    <span className={styles.excerpt}>
      <span className={styles.field}>{hit.field}</span> {start > 0 && "…"}
      {pieces(hit.excerpt, ranges, start).map(({ from, text, isFound }) =>
        isFound ? <mark key={from}>{visible(text)}</mark> : <span key={from}>{visible(text)}</span>,
      )}
    </span>
  );
}
