// A schema as a table: each argument, its type, and its description.
import { Badge } from "../../../components/Badge";
import { type PlainColumn, PlainTable } from "../../../components/PlainTable";
import { visible } from "../../../text/visible";
import { inWords, type Member, shownChoice } from "./fields";

interface Row {
  path: string;
  member: Member;
}

export function SchemaTable({ members }: { members: readonly Member[] }) {
  if (members.length === 0) return <p>This tool has no arguments.</p>;
  return (
    <PlainTable
      label="Arguments"
      columns={COLUMNS}
      rows={rowsOf(members)}
      idOf={(row) => row.path}
    />
  );
}

/** Members of objects, and of objects in lists, below their parent. */
function rowsOf(members: readonly Member[], before = ""): Row[] {
  return members.flatMap((member) => {
    const path = `${before}${member.name}`;
    const { field } = member;
    const inner = field.kind === "list" ? field.item : field;
    const mark = field.kind === "list" ? "[]." : ".";
    const below = inner.kind === "object" ? rowsOf(inner.members, `${path}${mark}`) : [];
    return [{ path, member }, ...below];
  });
}

const COLUMNS: readonly PlainColumn<Row>[] = [
  {
    id: "name",
    name: "Argument",
    isTitle: true,
    cell: ({ path, member }) => (
      <>
        <code>{visible(path)}</code> {member.isRequired && <Badge tone="accent">required</Badge>}
      </>
    ),
  },
  { id: "takes", name: "Type", cell: ({ member }) => inWords(member.field) },
  {
    id: "default",
    name: "Default",
    cell: ({ member }) =>
      member.byDefault === undefined ? "" : <code>{shownChoice(member.byDefault)}</code>,
  },
  {
    id: "about",
    name: "Description",
    grows: true,
    cell: ({ member }) => visible(member.description),
  },
];
