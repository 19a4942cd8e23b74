// The runs of a thread. Selecting one marks its part of the conversation.
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { RunSummary } from "../../api/schema";
import { StatusBadge } from "../../components/Badge";
import { TotalCost } from "../../components/TotalCost";
import { Errors } from "../../components/table/cells";
import type { Column } from "../../components/table/columns";
import { DataTable } from "../../components/table/DataTable";
import type { RowList } from "../../components/table/useRowList";
import { duration, shortCount } from "../../format/numbers";
import { moment } from "../../format/times";
import { visible } from "../../text/visible";
import { tokensOf } from "./rows";
import styles from "./ThreadScreen.module.css";

const runId = (run: RunSummary) => run.run_id;

const COLUMNS: readonly Column<RunSummary>[] = [
  {
    id: "question",
    name: "Run",
    width: 8,
    isLink: true,
    cell: (run) => visible((run.question?.trim() || run.name || run.run_id).slice(0, 300)),
  },
  { id: "time", name: "Started", width: 5, narrow: true, cell: (run) => moment(run.start_us) },
  {
    id: "status",
    name: "Status",
    width: 5,
    narrow: (run) => run.status !== "ok",
    cell: (run) => <StatusBadge status={run.status} lastUs={run.last_us} quiet />,
  },
  {
    id: "duration",
    name: "Duration",
    width: 5,
    align: "end",
    narrow: true,
    cell: (run) => duration(run.duration_us),
  },
  {
    id: "tokens",
    name: "Tokens",
    width: 5,
    align: "end",
    cell: (run) => shortCount(tokensOf(run.sums)),
  },
  {
    id: "cost",
    name: "Cost",
    width: 6,
    align: "end",
    narrow: (run) => run.sums.cost !== null,
    cell: (run) => <TotalCost sums={run.sums} />,
  },
  {
    id: "errors",
    name: "Errors",
    width: 5,
    align: "end",
    narrow: (run) => run.sums.faults > 0,
    cell: (run) => <Errors errors={run.sums.faults} />,
  },
];

export function RunList({ threadId, runs }: { threadId: string; runs: RowList<RunSummary> }) {
  const { run: chosen } = useSearch({ from: "/threads/$threadId" });
  const navigate = useNavigate({ from: "/threads/$threadId" });
  const mark = (run: string | undefined) =>
    void navigate({ search: (now) => ({ ...now, run }) as never, replace: true });
  // More runs load together with their messages, which are expensive to read.
  const list = { ...runs, loadMore: () => {} };
  return (
    <aside className={styles.runs} aria-label="Runs">
      <DataTable
        what="runs"
        columns={COLUMNS}
        shown={COLUMNS}
        list={list}
        idOf={runId}
        linkOf={(run) => ({
          to: "/threads/$threadId",
          params: { threadId },
          search: { run: run.run_id },
        })}
        order={{ sort: "time", ascending: false }}
        peeked={chosen}
        onPeek={mark}
        empty={null}
      />
    </aside>
  );
}
