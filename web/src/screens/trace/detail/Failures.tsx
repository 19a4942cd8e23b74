// Why a span failed: its error, and recorded exceptions with their stacks.
import type { Span, SpanEvent } from "../../../api/schema";
import { LongText } from "../../../components/LongText";
import { visible } from "../../../text/visible";
import styles from "./Detail.module.css";
import { attribute } from "./useSpan";

export function Failures({ span }: { span: Span }) {
  const exceptions = span.events.filter(isException);
  const hint = attribute(span, "treadle.hint", "treadle.error.hint");
  const kind = attribute(span, "error.type");
  if (span.error === null && exceptions.length === 0) return null;
  return (
    <div className={styles.failure}>
      {span.error !== null && (
        <>
          <strong>
            <span aria-hidden="true">✕ </span>
            {typeof kind === "string" ? visible(kind.slice(0, 200)) : "Error"}
          </strong>
          <LongText text={span.error} first={2_000} />
        </>
      )}
      {typeof hint === "string" && <p className={styles.about}>{visible(hint.slice(0, 2_000))}</p>}
      {exceptions.map((event, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the index identifies an event
        <Exception key={place} event={event} known={span.error} />
      ))}
    </div>
  );
}

export function isException(event: SpanEvent): boolean {
  return event.name === "exception" || "exception.type" in event.attributes;
}

interface ExceptionProps {
  event: SpanEvent;
  /** The error of the span, which is shown already. */
  known?: string | null;
}

export function Exception({ event, known = null }: ExceptionProps) {
  const told = (name: string): string | null => {
    const value = event.attributes[`exception.${name}`];
    return typeof value === "string" && value !== "" ? value : null;
  };
  const stack = told("stacktrace");
  const whole = told("message");
  const message = whole !== null && known?.includes(whole) ? null : whole;
  return (
    <div>
      <strong>{visible((told("type") ?? "Exception").slice(0, 300))}</strong>
      {message !== null && <LongText text={message} first={2_000} />}
      {stack !== null && (
        <details open={event.attributes["exception.escaped"] !== false}>
          <summary>Stack</summary>
          <LongText text={stack} mono first={4_000} />
        </details>
      )}
    </div>
  );
}
