// The totals of matching spans by time, model, thread and so on. Selecting a group narrows the
// query.

import { type LinkProps, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { NoRows } from "../../components/query/NoRows";
import { useParsed } from "../../components/query/queryText";
import type { View } from "../../components/query/views";
import { DataTable } from "../../components/table/DataTable";
import type { Grouping } from "../../components/table/listSearch";
import { useRowList } from "../../components/table/useRowList";
import { WRITTEN } from "../../live/events";
import { GroupChart } from "./GroupChart";
import { groupColumns, groupId } from "./groupColumns";
import { narrowed } from "./grouping";
import { type GroupRow, readGroups } from "./readGroups";

interface Props {
  what: View;
  query: string;
  by: Grouping;
  bucketSeconds: number;
  isLive: boolean;
}

export function GroupTable({ what, query, by, bucketSeconds, isLive }: Props) {
  const columns = useMemo(() => groupColumns(by), [by]);
  const terms = useParsed(query)?.terms ?? [];
  const navigate = useNavigate();
  const list = useRowList<GroupRow>({
    key: ["groups", by, by === "time" ? bucketSeconds : null, query],
    read: (cursor, signal) => readGroups({ query, by, bucketSeconds }, cursor, signal),
    idOf: groupId,
    events: isLive ? WRITTEN : [],
  });
  const linkOf = (group: GroupRow): LinkProps => {
    const asked = { text: query, terms, by, bucketSeconds, now: Date.now() };
    const search = (now: object) => ({
      ...now,
      query: narrowed(group, asked),
      group: undefined,
      bucket: undefined,
      peek: undefined,
    });
    return { to: ".", search } as LinkProps;
  };
  return (
    <>
      {by === "time" && list.rows.length > 0 && (
        <GroupChart
          groups={list.rows}
          bucketSeconds={bucketSeconds}
          onChoose={(group) => void navigate(linkOf(group) as never)}
        />
      )}
      <DataTable
        key={by}
        what="groups"
        columns={columns}
        shown={columns}
        list={list}
        idOf={groupId}
        linkOf={linkOf}
        order={{ sort: "time", ascending: false }}
        empty={<NoRows what={what} query={query} />}
      />
    </>
  );
}
