// The events of a span, in order of time.
import type { SpanContent, SpanEvent } from "../../../api/schema";
import { JsonView } from "../../../components/JsonView";
import { duration } from "../../../format/numbers";
import { exactMoment } from "../../../format/times";
import { visible } from "../../../text/visible";
import styles from "./Detail.module.css";
import { Exception, isException } from "./Failures";

export function Events({ content: { span } }: { content: SpanContent }) {
  const events = [...span.events].sort((one, other) => one.at_us - other.at_us);
  if (events.length === 0) {
    return (
      <div className={styles.formatted}>
        <p className={styles.about}>No events were recorded in this span.</p>
      </div>
    );
  }
  return (
    <ol className={styles.events}>
      {events.map((event, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the index identifies an event
        <li key={place}>
          <div className={styles.moment}>
            <strong>{visible(event.name.slice(0, 300))}</strong>
            <span className={styles.about} title={exactMoment(event.at_us)}>
              {offset(event, span.start_us)}
            </span>
          </div>
          {isException(event) ? (
            <Exception event={event} />
          ) : (
            Object.keys(event.attributes).length > 0 && <JsonView value={event.attributes} />
          )}
        </li>
      ))}
    </ol>
  );
}

function offset(event: SpanEvent, startUs: number): string {
  const after = event.at_us - startUs;
  return after < 0 ? `−${duration(-after)}` : `+${duration(after)}`;
}
