// The columns of groups: what each is, and its sums.
import type { Group } from "../../api/schema";
import { Errors } from "../../components/table/cells";
import type { Column } from "../../components/table/columns";
import { cost, count, duration, shortCount } from "../../format/numbers";
import { exactMoment } from "../../format/times";
import { visible } from "../../text/visible";
import type { Grouping } from "../searches";
import { groupName } from "./grouping";

export const groupId = (group: Group) => String(group.value);

const SUMS: readonly Column<Group>[] = [
  {
    id: "spans",
    name: "Spans",
    width: 5,
    align: "end",
    narrow: true,
    unit: "spans",
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
    narrow: (group) => group.errors > 0,
    unit: "errors",
    cell: (group) => <Errors errors={group.errors} />,
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

const NAMES: Record<Grouping, string> = {
  time: "From",
  model: "Model",
  thread: "Thread",
  run: "Run",
  label: "Label",
  operation: "Operation",
};

function columnsOf(by: Grouping): readonly Column<Group>[] {
  const first: Column<Group> = {
    id: "group",
    name: NAMES[by],
    width: 10,
    grows: 1,
    isLink: true,
    cell: (group) =>
      by === "time" ? (
        <time dateTime={exactMoment(Number(group.value))}>{groupName(by, group)}</time>
      ) : (
        visible(groupName(by, group))
      ),
  };
  return [first, ...SUMS];
}

export const GROUP_COLUMNS: Record<Grouping, readonly Column<Group>[]> = {
  time: columnsOf("time"),
  model: columnsOf("model"),
  thread: columnsOf("thread"),
  run: columnsOf("run"),
  label: columnsOf("label"),
  operation: columnsOf("operation"),
};

/** What is known; of calls without a known price it is said that they are left out. */
function Cost({ group }: { group: Group }) {
  const more = group.cost !== null && group.unpriced > 0;
  return (
    <span title={group.unpriced > 0 ? `without ${count(group.unpriced)} of unknown price` : ""}>
      {cost(group.cost)}
      {more && "+"}
    </span>
  );
}
