// The columns of the list of runs.
import type { RunSummary } from "../../api/schema";
import { StatusBadge } from "../../components/Badge";
import { Took } from "../../components/Took";
import { TotalCost } from "../../components/TotalCost";
import { Ago, Errors, errorColumn, Labels, Names } from "../../components/table/cells";
import type { Column } from "../../components/table/columns";
import { count, unit } from "../../format/numbers";
import { visible } from "../../text/visible";
import { inAndOut, metadataText } from "./figures";
import { runTitle } from "./runTitle";

export const runId = (run: RunSummary) => run.run_id;

export const RUN_COLUMNS: readonly Column<RunSummary>[] = [
  {
    id: "title",
    name: "Run",
    width: 11,
    grows: 4,
    isLink: true,
    cell: (run) => visible(runTitle(run).slice(0, 300)),
  },
  {
    id: "status",
    name: "Status",
    width: 6,
    narrow: (run) => run.status !== "ok",
    cell: (run) => <StatusBadge status={run.status} lastUs={run.last_us} quiet />,
  },
  errorColumn<RunSummary>(),
  {
    id: "started",
    name: "Started",
    width: 6,
    sort: "time",
    narrow: true,
    cell: (run) => <Ago at={run.start_us} />,
  },
  {
    id: "duration",
    name: "Duration",
    width: 6,
    align: "end",
    sort: "duration",
    narrow: (run) => run.duration_us !== null || run.status === "unfinished",
    cell: (run) => (
      <Took
        status={run.status}
        took={run.duration_us}
        startUs={run.start_us}
        lastUs={run.last_us}
      />
    ),
  },
  {
    id: "cost",
    name: "Cost",
    width: 6.5,
    align: "end",
    sort: "cost",
    narrow: (run) => run.sums.cost !== null,
    cell: (run) => <TotalCost sums={run.sums} />,
  },
  {
    id: "tokens",
    name: "Tokens",
    width: 7.5,
    align: "end",
    sort: "tokens",
    cell: (run) => inAndOut(run.sums.tokens),
  },
  {
    id: "errors",
    name: "Errors",
    width: 4,
    align: "end",
    narrow: (run) => run.sums.faults > 0,
    unit: (run) => unit(run.sums.faults, "error"),
    cell: (run) => <Errors errors={run.sums.faults} />,
  },
  {
    id: "spans",
    name: "Spans",
    width: 4,
    align: "end",
    hidden: true,
    cell: (run) => count(run.sums.spans),
  },
  {
    id: "models",
    name: "Models",
    width: 12,
    hidden: true,
    cell: (run) => <Names names={run.models} />,
  },
  {
    id: "labels",
    name: "Labels",
    width: 6,
    grows: 1,
    cell: (run) => <Labels labels={run.labels} />,
  },
  {
    id: "user",
    name: "User",
    width: 7,
    hidden: true,
    cell: (run) => visible(run.user ?? ""),
  },
  {
    id: "release",
    name: "Release",
    width: 5,
    hidden: true,
    cell: (run) => visible(run.release ?? ""),
  },
  {
    id: "metadata",
    name: "Metadata",
    width: 12,
    grows: 1,
    hidden: true,
    cell: (run) => visible(metadataText(run.metadata)),
  },
  {
    id: "thread",
    name: "Thread",
    width: 9,
    hidden: true,
    cell: (run) => visible(run.thread_id),
  },
  {
    id: "calls",
    name: "Model calls",
    width: 6.5,
    align: "end",
    hidden: true,
    cell: (run) => count(run.sums.model_calls),
  },
  {
    id: "tools",
    name: "Tool calls",
    width: 6,
    align: "end",
    hidden: true,
    cell: (run) => count(run.sums.tool_calls),
  },
  {
    id: "name",
    name: "Name",
    width: 10,
    hidden: true,
    cell: (run) => visible(run.name.slice(0, 200)),
  },
  {
    id: "id",
    name: "Id",
    width: 12,
    hidden: true,
    cell: (run) => <code>{visible(run.run_id)}</code>,
  },
];
