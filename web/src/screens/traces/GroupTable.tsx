// What fits, summed up by time, model, thread and so on; a group that is chosen narrows the query.
import { type LinkProps, useNavigate } from "@tanstack/react-router";
import { client, ok } from "../../api/client";
import type { Group } from "../../api/schema";
import { NoRows } from "../../components/query/NoRows";
import { useParsed } from "../../components/query/queryText";
import type { View } from "../../components/query/views";
import { DataTable } from "../../components/table/DataTable";
import { useRowList } from "../../components/table/useRowList";
import type { Grouping } from "../searches";
import { EVENTS } from "../threads/rows";
import { GroupChart } from "./GroupChart";
import { GROUP_COLUMNS, groupId } from "./groupColumns";
import { narrowed } from "./grouping";

const PAGE = 500;

interface Props {
  what: View;
  query: string;
  by: Grouping;
  bucketSeconds: number;
  isLive: boolean;
}

export function GroupTable({ what, query, by, bucketSeconds, isLive }: Props) {
  const terms = useParsed(query)?.terms ?? [];
  const navigate = useNavigate();
  const list = useRowList<Group>({
    key: ["groups", by, by === "time" ? bucketSeconds : null, query],
    read: (cursor, signal) => readGroups({ query, by, bucketSeconds }, cursor, signal),
    idOf: groupId,
    events: isLive ? EVENTS : [],
  });
  const linkOf = (group: Group): LinkProps => {
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
        columns={GROUP_COLUMNS[by]}
        shown={GROUP_COLUMNS[by]}
        list={list}
        idOf={groupId}
        linkOf={linkOf}
        order={{ sort: "time", ascending: false }}
        empty={<NoRows what={what} query={query} />}
      />
    </>
  );
}

/** A page of groups; the cursor is the place of the next one. */
async function readGroups(
  { query, by, bucketSeconds }: Pick<Props, "query" | "by" | "bucketSeconds">,
  cursor: string | null,
  signal: AbortSignal,
) {
  const offset = Number(cursor ?? 0);
  const asked = {
    group_by: by,
    limit: PAGE,
    offset,
    ...(by === "time" ? { bucket_size: bucketSeconds } : {}),
    ...(query ? { query } : {}),
  };
  const page = await ok(client.GET("/api/v1/groups", { params: { query: asked }, signal }));
  const next = offset + page.data.length;
  const isMore = page.pagination.total !== null && next < page.pagination.total;
  return {
    data: page.data,
    pagination: { ...page.pagination, next_cursor: isMore ? `${next}` : null },
  };
}
