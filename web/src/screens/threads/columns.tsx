// The columns of the list of threads.
import type { Thread } from "../../api/schema";
import { Badge } from "../../components/Badge";
import type { Column } from "../../components/table/columns";
import { cost, count, shortCount } from "../../format/numbers";
import { ago, exactMoment, moment } from "../../format/times";
import { visible } from "../../text/visible";
import { titleOf, tokensOf } from "./rows";
import styles from "./Threads.module.css";

export const threadId = (thread: Thread) => thread.thread_id;

export const THREAD_COLUMNS: readonly Column<Thread>[] = [
  {
    id: "title",
    name: "Thread",
    width: 13,
    grows: 4,
    isLink: true,
    cell: (thread) => visible(titleOf(thread)),
  },
  {
    id: "last",
    name: "Last activity",
    width: 7,
    sort: "time",
    narrow: true,
    cell: (thread) => (
      <time dateTime={exactMoment(thread.last_us)} title={moment(thread.last_us)}>
        {ago(thread.last_us)}
      </time>
    ),
  },
  {
    id: "runs",
    name: "Runs",
    width: 4,
    align: "end",
    narrow: true,
    unit: "runs",
    cell: (thread) => count(thread.runs),
  },
  {
    id: "errors",
    name: "Errors",
    width: 4.5,
    align: "end",
    narrow: (thread) => thread.sums.errors > 0,
    unit: "errors",
    cell: (thread) => <Errors errors={thread.sums.errors} />,
  },
  {
    id: "tokens",
    name: "Tokens",
    width: 5,
    align: "end",
    sort: "tokens",
    narrow: (thread) => tokensOf(thread.sums) !== null,
    unit: "tokens",
    cell: (thread) => shortCount(tokensOf(thread.sums)),
  },
  {
    id: "cost",
    name: "Cost",
    width: 5,
    align: "end",
    sort: "cost",
    narrow: (thread) => thread.sums.cost !== null,
    cell: (thread) => cost(thread.sums.cost),
  },
  {
    id: "models",
    name: "Models",
    width: 8,
    grows: 1,
    cell: (thread) => <Names names={thread.models} />,
  },
  {
    id: "labels",
    name: "Labels",
    width: 7,
    grows: 1,
    cell: (thread) => <Labels labels={thread.labels} />,
  },
  {
    id: "calls",
    name: "Model calls",
    width: 7,
    align: "end",
    hidden: true,
    cell: (thread) => count(thread.sums.model_calls),
  },
  {
    id: "tools",
    name: "Tool calls",
    width: 6,
    align: "end",
    hidden: true,
    cell: (thread) => count(thread.sums.tool_calls),
  },
  {
    id: "begun",
    name: "Begun",
    width: 10,
    hidden: true,
    cell: (thread) => moment(thread.start_us),
  },
  {
    id: "id",
    name: "Id",
    width: 12,
    hidden: true,
    cell: (thread) => <code>{visible(thread.thread_id)}</code>,
  },
];

function Errors({ errors }: { errors: number }) {
  if (errors === 0) return null;
  return (
    <span className={styles.errors}>
      <span aria-hidden="true">✕ </span>
      {count(errors)}
    </span>
  );
}

function Names({ names }: { names: readonly string[] }) {
  const all = visible(names.join(", "));
  return <span title={all}>{all}</span>;
}

function Labels({ labels }: { labels: readonly string[] }) {
  return (
    <span className={styles.labels} title={visible(labels.join(", "))}>
      {labels.map((label) => (
        <Badge key={label}>{visible(label)}</Badge>
      ))}
    </span>
  );
}
