// The columns of groups: the group and its totals.
import { Errors } from "../../components/table/cells";
import type { Column } from "../../components/table/columns";
import type { Grouping } from "../../components/table/listSearch";
import { cost, count, duration, shortCount, unit } from "../../format/numbers";
import { exactMoment } from "../../format/times";
import { visible } from "../../text/visible";
import { groupName } from "./grouping";
import type { GroupRow } from "./readGroups";

export const groupId = (group: GroupRow) => String(group.value);

const SUMS: readonly Column<GroupRow>[] = [
  {
    id: "spans",
    name: "Spans",
    width: 5,
    align: "end",
    narrow: true,
    unit: (group) => unit(group.spans, "span"),
    cell: (group) => count(group.spans),
  },
  {
    id: "calls",
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
    id: "errors",
    name: "Errors",
    width: 5,
    align: "end",
    narrow: (group) => group.faults > 0,
    unit: (group) => unit(group.faults, "error"),
    cell: (group) => <Errors errors={group.faults} />,
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
    id: "cost",
    name: "Cost",
    width: 6,
    align: "end",
    narrow: (group) => group.cost !== null,
    cell: (group) => <Cost group={group} />,
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

export function groupColumns(by: Grouping): readonly Column<GroupRow>[] {
  const isNamed = by === "thread" || by === "run";
  const first: Column<GroupRow> = {
    id: "group",
    name: NAMES[by] ?? by,
    width: isNamed ? 18 : 10,
    grows: 1,
    isLink: true,
    cell: (group) =>
      by === "time" ? (
        <time dateTime={exactMoment(Number(group.value))}>{groupName(by, group)}</time>
      ) : (
        <span title={visible(String(group.value))}>
          {visible(groupName(by, group).slice(0, 300))}
        </span>
      ),
  };
  // The question needs the room.
  return [first, ...SUMS.filter(({ id }) => !isNamed || (id !== "calls" && id !== "tools"))];
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
