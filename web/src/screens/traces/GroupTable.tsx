// The totals of matching spans by time, model, thread and so on. Selecting a group narrows the
// query.

import { type LinkProps, useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { NoRows } from "../../components/query/NoRows";
import { useParsed } from "../../components/query/queryText";
import type { View } from "../../components/query/views";
import { DataTable } from "../../components/table/DataTable";
import type { AnySort, Grouping, GroupSort, ListSearch } from "../../components/table/listSearch";
import { useRowSelection } from "../../components/table/rowSelection";
import { useRowList } from "../../components/table/useRowList";
import type { Order } from "../../components/table/useTableModel";
import { useSearchChange } from "../../components/table/useTableSearch";
import { WRITTEN } from "../../live/events";
import { GroupChart } from "./GroupChart";
import { GroupComparison } from "./GroupComparison";
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
  const search: ListSearch = useSearch({ strict: false });
  const change = useSearchChange();
  const { parts } = search;
  const usual = by === "time" ? "group" : "spans";
  const order: Order<GroupSort> = {
    sort: search.groupSort ?? usual,
    ascending: search.groupAscending === "true",
  };
  const isOrdered = search.groupSort || search.groupAscending;
  const onOrder = ({ sort, ascending }: Order<AnySort>) =>
    change({
      groupSort: sort === usual ? undefined : (sort as GroupSort),
      groupAscending: ascending ? "true" : undefined,
    });
  const terms = useParsed(query)?.terms ?? [];
  const navigate = useNavigate();
  const list = useRowList<GroupRow>({
    key: ["groups", by, parts, bucketSeconds, query, isOrdered && order],
    read: (cursor, signal) =>
      readGroups(
        { query, by, parts, bucketSeconds, order: isOrdered ? order : undefined },
        cursor,
        signal,
      ),
    idOf: groupId,
    events: isLive ? WRITTEN : [],
  });
  const durationsOf = list.rows[0]?.duration_of ?? null;
  const columns = useMemo(
    () => groupColumns({ by, parts, bucketSeconds, durationsOf }),
    [by, parts, bucketSeconds, durationsOf],
  );
  const selection = useRowSelection(`groups ${by} ${parts} ${query}`, list.rows, groupId);
  const chosen = list.rows.filter((row) => selection.has(groupId(row)));
  const linkOf = (group: GroupRow): LinkProps => {
    const asked = { text: query, terms, by, bucketSeconds, now: Date.now() };
    // A part of a group leads to its whole group, divided no further.
    const search = (now: object) => ({
      ...now,
      query: narrowed(group.outer ?? group, asked),
      group: group.outer ? parts : undefined,
      parts: undefined,
      groupSort: undefined,
      groupAscending: undefined,
      bucket: group.outer && parts === "time" ? String(bucketSeconds) : undefined,
      peek: undefined,
    });
    return { to: ".", search } as LinkProps;
  };
  return (
    <>
      {by === "time" && !parts && list.rows.length > 0 && (
        <GroupChart
          groups={list.rows}
          bucketSeconds={bucketSeconds}
          onChoose={(group) => void navigate(linkOf(group) as never)}
        />
      )}
      <DataTable
        key={`${by} ${parts}`}
        what="groups"
        columns={columns}
        shown={columns}
        list={list}
        idOf={groupId}
        linkOf={linkOf}
        order={order}
        onOrder={onOrder}
        selection={selection}
        actions={
          <GroupComparison by={by} parts={parts} bucketSeconds={bucketSeconds} chosen={chosen} />
        }
        empty={<NoRows what={what} query={query} />}
      />
    </>
  );
}
