// Cells that several lists use.
import type { ListedError } from "../../api/schema";
import { count } from "../../format/numbers";
import { ago, exactMoment, moment } from "../../format/times";
import { visible } from "../../text/visible";
import { Badge } from "../Badge";
import styles from "./cells.module.css";
import type { Column } from "./columns";

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

/** The error of a run or a thread: its type, its message and the name of its span. */
export function errorText(error: ListedError | null): string {
  if (error === null) return "";
  const reason = [error.error_type, error.message].filter(Boolean).join(": ");
  return reason ? `${reason} (${error.name})` : error.name;
}

/** The column of the error of a run or a thread. It is visible if the query is about errors. */
export function errorColumn<T extends { error: ListedError | null }>(): Column<T> {
  return {
    id: "error",
    name: "Error",
    width: 14,
    grows: 4,
    hidden: true,
    isWanted: (query) => /(^|\s)(status:error|has:error|error:)/.test(query),
    cell: ({ error }) => <span title={visible(errorText(error))}>{visible(errorText(error))}</span>,
  };
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
