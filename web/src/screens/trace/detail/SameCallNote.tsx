// Names the other span that recorded the same call, and states which of the two spans counts.
import { Link } from "@tanstack/react-router";
import type { SpanContent } from "../../../api/schema";
import { visible } from "../../../text/visible";
import styles from "./Detail.module.css";

export function SameCallNote({ sameCall }: { sameCall: SpanContent["same_call"] }) {
  if (sameCall === null) return null;
  const { trace_id: traceId, span_id: span } = sameCall.other;
  return (
    <p className={styles.about}>
      <Link to="/traces/$traceId" params={{ traceId }} search={{ span }}>
        Span {visible(span.slice(0, 40))}
      </Link>{" "}
      recorded the same call. {sameCall.counted ? "This span" : "That span"} counts in sums.
    </p>
  );
}
