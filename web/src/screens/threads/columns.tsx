// The columns of the list of threads.
import type { ThreadSummary } from "../../api/schema";
import { TotalCost } from "../../components/TotalCost";
import { Ago, Errors, errorColumn, Labels, Names } from "../../components/table/cells";
import type { Column } from "../../components/table/columns";
import { count, shortCount, unit } from "../../format/numbers";
import { moment } from "../../format/times";
import { visible } from "../../text/visible";
import { titleOf, tokensOf } from "./rows";

export const threadId = (thread: ThreadSummary) => thread.thread_id;

export const THREAD_COLUMNS: readonly Column<ThreadSummary>[] = [
  {
    id: "title",
    name: "Thread",
    width: 12,
    grows: 4,
    isLink: true,
    cell: (thread) => visible(titleOf(thread)),
  },
  errorColumn<ThreadSummary>(),
  {
    id: "last",
    name: "Last activity",
    width: 7,
    sort: "time",
    narrow: true,
    cell: (thread) => <Ago at={thread.last_us} />,
  },
  {
    id: "runs",
    name: "Runs",
    width: 3.5,
    align: "end",
    narrow: true,
    unit: (thread) => unit(thread.runs, "run"),
    cell: (thread) => count(thread.runs),
  },
  {
    id: "errors",
    name: "Errors",
    width: 4,
    align: "end",
    narrow: (thread) => thread.sums.faults > 0,
    unit: (thread) => unit(thread.sums.faults, "error"),
    cell: (thread) => <Errors errors={thread.sums.faults} />,
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
    width: 6.5,
    align: "end",
    sort: "cost",
    narrow: (thread) => thread.sums.cost !== null,
    cell: (thread) => <TotalCost sums={thread.sums} />,
  },
  {
    id: "models",
    name: "Models",
    width: 8.5,
    cell: (thread) => <Names names={thread.models} />,
  },
  {
    id: "labels",
    name: "Labels",
    width: 6.5,
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
    name: "Started",
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
