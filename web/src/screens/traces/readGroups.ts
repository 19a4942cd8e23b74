// A page of groups. Threads and runs get their question as a title, since an id is not readable.
import { client, ok } from "../../api/client";
import type { Group } from "../../api/schema";
import type { Grouping, GroupSort } from "../../components/table/listSearch";
import type { Order } from "../../components/table/useTableModel";
import { titleOf } from "../threads/rows";
import { runTitle } from "./runTitle";

const PAGE = 500;
const NAMED_PAGE = 100; // the titles are requested by id, in an address

/** A group, with the title of its thread or run. */
export interface GroupRow extends Group {
  name?: string | undefined;
  /** The group that this group is a part of. */
  outer?: Group | undefined;
}

export interface AskedGroups {
  query: string;
  by: Grouping;
  parts?: Grouping | undefined;
  bucketSeconds: number;
  /** Undefined: the order of the server, in which the group without a value is last. */
  order: Order<GroupSort> | undefined;
}

const NESTED_PAGE = 20;

/** The cursor is the offset of the next page. */
export async function readGroups(
  { query, by, parts, bucketSeconds, order }: AskedGroups,
  cursor: string | null,
  signal: AbortSignal,
) {
  const offset = Number(cursor ?? 0);
  const asked = {
    group_by: by,
    limit: parts ? NESTED_PAGE : by === "thread" || by === "run" ? NAMED_PAGE : PAGE,
    offset,
    ...order,
    ...(by === "time" || parts === "time" ? { bucket_size: bucketSeconds } : {}),
    ...(query ? { query } : {}),
  };
  if (parts) return readNested(asked, parts, signal);
  const { data, pagination } = await ok(
    client.GET("/api/v1/groups", { params: { query: asked }, signal }),
  );
  const names = await namesOf(by, data, signal);
  const next = offset + data.length;
  const isMore = pagination.total !== null && next < pagination.total;
  return {
    data: data.map((group): GroupRow => ({ ...group, name: names.get(String(group.value)) })),
    pagination: { ...pagination, next_cursor: isMore ? `${next}` : null },
  };
}

/** Each group, followed by its parts. */
async function readNested(
  asked: { group_by: string; offset: number; limit: number },
  parts: Grouping,
  signal: AbortSignal,
) {
  const query = { ...asked, then_by: parts };
  const { data, pagination } = await ok(
    client.GET("/api/v1/nested_groups", { params: { query }, signal }),
  );
  const next = asked.offset + data.length;
  const isMore = pagination.total !== null && next < pagination.total;
  return {
    data: data.flatMap(({ groups, total: _, ...outer }): GroupRow[] => [
      outer,
      ...groups.map((group) => ({ ...group, outer })),
    ]),
    pagination: { ...pagination, total: null, next_cursor: isMore ? `${next}` : null },
  };
}

async function namesOf(
  by: Grouping,
  groups: readonly Group[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const ids = groups.map((group) => String(group.value));
  if (ids.length === 0) return new Map();
  const limit = ids.length;
  if (by === "run") {
    const query = { run_ids: ids, limit };
    const runs = await ok(client.GET("/api/v1/runs", { params: { query }, signal }));
    return new Map(runs.data.map((run) => [run.run_id, runTitle(run)]));
  }
  if (by === "thread") {
    const query = { thread_ids: ids, limit };
    const threads = await ok(client.GET("/api/v1/threads", { params: { query }, signal }));
    return new Map(threads.data.map((thread) => [thread.thread_id, titleOf(thread)]));
  }
  return new Map();
}
