// The columns of groups: the group and its totals.
import { Errors } from "../../components/table/cells";
import type { Column } from "../../components/table/columns";
import type { Grouping } from "../../components/table/listSearch";
import {
  cost,
  count,
  duration,
  milliseconds,
  percent,
  shortCount,
  unit,
} from "../../format/numbers";
import { exactMoment } from "../../format/times";
import { visible } from "../../text/visible";
import styles from "./Groups.module.css";
import { groupName, percentileName } from "./grouping";
import type { GroupRow } from "./readGroups";

export const groupId = ({ value, outer }: GroupRow) =>
  outer ? `${outer.value}\u0000${value}` : String(value);

const figures = (durationsOf: GroupRow["duration_of"]): readonly Column<GroupRow>[] => [
  {
    id: "runs",
    name: "Runs",
    width: 4,
    align: "end",
    sort: "runs",
    narrow: true,
    unit: (group) => unit(group.runs, "run"),
    cell: (group) => count(group.runs),
  },
  {
    id: "failed",
    name: "Failed runs",
    width: 7,
    align: "end",
    sort: "failed_runs",
    narrow: (group) => (group.failed_runs ?? 0) > 0,
    unit: "failed",
    cell: (group) => failureRate(group),
  },
  {
    id: "cost",
    sort: "cost",
    name: "Cost",
    width: 6,
    align: "end",
    narrow: (group) => group.cost !== null,
    cell: (group) => <Cost group={group} />,
  },
  {
    id: "each",
    name: "Cost per run",
    width: 7,
    align: "end",
    sort: "cost_per_run",
    cell: (group) => cost(group.cost_per_run),
  },
  {
    id: "p50",
    name: percentileName("p50", durationsOf),
    width: 6,
    align: "end",
    sort: "p50",
    cell: (group) => milliseconds(group.duration?.p50),
  },
  {
    id: "p95",
    name: percentileName("p95", durationsOf),
    width: 6,
    align: "end",
    sort: "p95",
    cell: (group) => milliseconds(group.duration?.p95),
  },
  {
    id: "errors",
    sort: "errors",
    name: "Errors",
    width: 5,
    align: "end",
    narrow: (group) => group.faults > 0,
    unit: (group) => unit(group.faults, "error"),
    cell: (group) => <Errors errors={group.faults} />,
  },
];

const SUMS: readonly Column<GroupRow>[] = [
  {
    id: "spans",
    sort: "spans",
    name: "Spans",
    width: 5,
    align: "end",
    narrow: true,
    unit: (group) => unit(group.spans, "span"),
    cell: (group) => count(group.spans),
  },
  {
    id: "calls",
    sort: "calls",
    name: "Model calls",
    width: 6.5,
    align: "end",
    cell: (group) => count(group.model_calls),
  },
  {
    id: "tools",
    name: "Tool calls",
    width: 6,
    align: "end",
    cell: (group) => count(group.tool_calls),
  },
  {
    id: "input",
    name: "Input",
    width: 5,
    align: "end",
    narrow: (group) => group.tokens.input !== null,
    unit: "in",
    cell: (group) => shortCount(group.tokens.input),
  },
  {
    id: "output",
    name: "Output",
    width: 5,
    align: "end",
    narrow: (group) => group.tokens.output !== null,
    unit: "out",
    cell: (group) => shortCount(group.tokens.output),
  },
  {
    id: "busy",
    name: "Busy",
    width: 6,
    align: "end",
    cell: (group) => duration(group.busy_us),
  },
];

const NAMES: Record<string, string> = {
  time: "From",
  model: "Model",
  thread: "Thread",
  run: "Run",
  label: "Label",
  operation: "Operation",
  user: "User",
  release: "Release",
};

/** "3 (12.0 %)": the failed runs and their share. */
export function failureRate({ runs, failed_runs }: Pick<GroupRow, "runs" | "failed_runs">): string {
  if (!runs || !failed_runs) return count(failed_runs);
  return `${count(failed_runs)} (${percent(failed_runs / runs)})`;
}

interface Shown {
  by: Grouping;
  parts: Grouping | undefined;
  bucketSeconds: number;
  durationsOf: GroupRow["duration_of"];
}

export function groupColumns(shown: Shown): readonly Column<GroupRow>[] {
  const { by, parts, bucketSeconds, durationsOf } = shown;
  const isNamed = by === "thread" || by === "run";
  const first: Column<GroupRow> = {
    id: "group",
    name: parts ? `${NAMES[by] ?? by}, ${NAMES[parts] ?? parts}` : (NAMES[by] ?? by),
    sort: "group",
    width: isNamed ? 18 : 10,
    grows: 1,
    isLink: true,
    cell: (group) => {
      const own = group.outer ? (parts ?? by) : by;
      const name = groupName(own, group, bucketSeconds);
      return (
        <span className={group.outer && styles.inner}>
          {own === "time" ? (
            <time dateTime={exactMoment(Number(group.value))}>{name}</time>
          ) : (
            <span title={visible(String(group.value))}>{visible(name.slice(0, 300))}</span>
          )}
        </span>
      );
    },
  };
  // The question needs the room.
  return [
    first,
    ...figures(durationsOf),
    ...SUMS.filter(({ id }) => !isNamed || (id !== "calls" && id !== "tools")),
  ];
}

/** The known cost. It states how many calls without a known price are left out. */
function Cost({ group }: { group: GroupRow }) {
  const more = group.cost !== null && group.unpriced > 0;
  return (
    <span title={group.unpriced > 0 ? `without ${count(group.unpriced)} of unknown price` : ""}>
      {cost(group.cost)}
      {more && "+"}
    </span>
  );
}
