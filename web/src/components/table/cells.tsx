// Cells that several lists use.
import { count } from "../../format/numbers";
import { ago, exactMoment, moment } from "../../format/times";
import { visible } from "../../text/visible";
import { Badge } from "../Badge";
import styles from "./cells.module.css";

/** The number of failures, with a symbol; empty if there are none. */
export function Errors({ errors }: { errors: number }) {
  if (errors === 0) return null;
  return (
    <span className={styles.errors}>
      <span aria-hidden="true">✕ </span>
      {count(errors)}
    </span>
  );
}

export function Names({ names }: { names: readonly string[] }) {
  const all = visible(names.join(", "));
  return <span title={all}>{all}</span>;
}

/** The first value, and the number of others: a cell has no room for more. */
export function Labels({ labels }: { labels: readonly string[] }) {
  const [first, ...others] = labels;
  if (first === undefined) return null;
  const all = visible(labels.join(", "));
  return (
    <span className={styles.labels} title={all}>
      <Badge>{visible(first)}</Badge>
      {others.length > 0 && (
        <span className={styles.more}>
          +{count(others.length)}
          <span className="visually-hidden">: {all}</span>
        </span>
      )}
    </span>
  );
}

export function Ago({ at }: { at: number }) {
  return (
    <time dateTime={exactMoment(at)} title={moment(at)}>
      {ago(at)}
    </time>
  );
}
