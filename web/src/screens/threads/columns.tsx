// The columns of the list of threads.
import type { Thread } from "../../api/schema";
import { Badge } from "../../components/Badge";
import type { Column } from "../../components/table/columns";
import { cost, count, shortCount } from "../../format/numbers";
import { ago, exactMoment, moment } from "../../format/times";
import styles from "./Threads.module.css";

export const threadId = (thread: Thread) => thread.thread_id;

export const THREAD_COLUMNS: readonly Column<Thread>[] = [
  {
    id: "title",
    name: "Thread",
    width: 13,
    grows: 4,
    isLink: true,
    cell: (thread) => thread.title ?? thread.thread_id,
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
    narrow: (thread) => tokensOf(thread) !== null,
    unit: "tokens",
    cell: (thread) => shortCount(tokensOf(thread)),
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
    cell: (thread) => <span title={thread.models.join(", ")}>{thread.models.join(", ")}</span>,
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
    cell: (thread) => <code>{thread.thread_id}</code>,
  },
];

function tokensOf({ sums: { tokens } }: Thread): number | null {
  if (tokens.input === null && tokens.output === null) return null;
  return (tokens.input ?? 0) + (tokens.output ?? 0);
}

function Errors({ errors }: { errors: number }) {
  if (errors === 0) return null;
  return (
    <span className={styles.errors}>
      <span aria-hidden="true">✕ </span>
      {count(errors)}
    </span>
  );
}

function Labels({ labels }: { labels: readonly string[] }) {
  return (
    <span className={styles.labels} title={labels.join(", ")}>
      {labels.map((label) => (
        <Badge key={label}>{label}</Badge>
      ))}
    </span>
  );
}
