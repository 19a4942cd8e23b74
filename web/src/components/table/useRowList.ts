// A list of the server, page by page, kept new without moving what a person looks at.
import { type QueryClient, useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useRef, useState } from "react";
import { pause } from "../../live/pause";
import { useLiveRefresh } from "../../live/useLiveRefresh";
import {
  NOTHING_WAITS,
  putIn,
  type RowPage,
  type RowPages,
  refreshed,
  rowsOf,
  type Waiting,
  waitingIn,
} from "./liveRows";

export interface RowList<Row> {
  rows: readonly Row[];
  /** How many there are in all; null where counting would take long. */
  total: number | null;
  state: "loading" | "failed" | "shown";
  /** Why the last reading failed; what was read before may still be shown. */
  error: unknown;
  /** The rows are those of an earlier question, since this one is not answered yet. */
  isOld: boolean;
  hasMore: boolean;
  isLoadingMore: boolean;
  loadMore: () => void;
  retry: () => void;
  /** What has arrived and is not put in. */
  waiting: Waiting;
  putIn: () => void;
}

/** So soon after a reading the next may follow: what is recorded is to be seen within half a second. */
const APART_MS = 100;
const REST = 2; // a list that takes long is read again after so many times what reading it took

interface Asked<Row> {
  /** Everything that the answer depends on. */
  key: readonly unknown[];
  read: (cursor: string | null, signal: AbortSignal) => Promise<RowPage<Row>>;
  idOf: (row: Row) => string;
  /** Types of events after which the list may be another; none: it is not followed. */
  events: readonly string[];
}

/** Read a list. `idOf` has to be a stable function. */
export function useRowList<Row>({ key, read, idOf, events }: Asked<Row>): RowList<Row> {
  const queries = useQueryClient();
  const [newest, setNewest] = useState<{ key: string; page: RowPage<Row> } | null>(null);
  const asked = useInfiniteQuery({
    queryKey: key,
    queryFn: async ({ pageParam, signal }) => {
      const page = await read(pageParam, signal);
      // What waited is in it, unless it is there no more.
      if (pageParam === null) setNewest(null);
      return page;
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page: RowPage<Row>) => page.pagination.next_cursor,
  });
  const { pages, isOld } = useLastGood(asked.data?.pages, asked.error);
  const rows = useMemo(() => rowsOf(pages ?? [], idOf), [pages, idOf]);
  const keyText = JSON.stringify(key);

  useLiveRefresh(
    events,
    async (signal) => {
      await settled(queries, key);
      const began = performance.now();
      const page = await read(null, signal);
      const rest = REST * (performance.now() - began);
      queries.setQueryData<RowPages<Row>>(key, (now) => now && refreshed(now, page, idOf));
      setNewest({ key: keyText, page });
      await pause(rest - APART_MS); // which is waited for besides
    },
    events.length > 0 && !isOld,
    undefined,
    APART_MS,
  );

  const current = newest?.key === keyText ? newest.page : null;
  const waiting = useMemo(
    () => (current && !isOld ? waitingIn(rows, current, idOf) : NOTHING_WAITS),
    [rows, current, isOld, idOf],
  );
  const put = () => {
    if (!current) return;
    queries.setQueryData<RowPages<Row>>(key, (now) => now && putIn(now, current, idOf));
  };

  return {
    rows,
    total: pages?.[0]?.pagination.total ?? null,
    state: pages ? "shown" : asked.error ? "failed" : "loading",
    error: asked.error,
    isOld,
    hasMore: asked.hasNextPage && !isOld,
    isLoadingMore: asked.isFetchingNextPage,
    loadMore: () => void asked.fetchNextPage(),
    retry: () => void asked.refetch(),
    waiting,
    putIn: put,
  };
}

/** A reading that is on its way is older: were it answered after the next one, it would undo it. */
async function settled(queries: QueryClient, key: readonly unknown[]): Promise<void> {
  const query = queries.getQueryCache().find({ queryKey: key, exact: true });
  if (query?.state.fetchStatus === "fetching") await query.promise?.catch(() => {});
}

/** What was read last, while the next question is being answered. */
function useLastGood<Row>(pages: RowPage<Row>[] | undefined, error: unknown) {
  const last = useRef<RowPage<Row>[]>(undefined);
  if (pages) last.current = pages;
  const kept = pages ?? (error ? undefined : last.current);
  return { pages: kept, isOld: pages === undefined && kept !== undefined };
}
