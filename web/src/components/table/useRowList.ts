// A list of the server, page by page, updated without moving what a person looks at.
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
  /** The total number; null if counting would take long. */
  total: number | null;
  state: "loading" | "failed" | "shown";
  /** The error of the last request. Earlier rows may still be shown. */
  error: unknown;
  /** The rows belong to the previous query, since this one has no answer yet. */
  isOld: boolean;
  hasMore: boolean;
  isLoadingMore: boolean;
  loadMore: () => void;
  retry: () => void;
  /** New rows that are not shown yet. */
  waiting: Waiting;
  putIn: () => void;
}

/** The minimum time between two requests: new spans appear within half a second. */
const APART_MS = 100;
const REST = 2; // a slow list is requested again after a multiple of its own duration

interface Asked<Row> {
  /** Everything that the answer depends on. */
  key: readonly unknown[];
  read: (cursor: string | null, signal: AbortSignal) => Promise<RowPage<Row>>;
  idOf: (row: Row) => string;
  /** Types of events after which the list may change; empty: it is not followed. */
  events: readonly string[];
}

/** Reads a list. `idOf` must be a stable function. */
export function useRowList<Row>({ key, read, idOf, events }: Asked<Row>): RowList<Row> {
  const queries = useQueryClient();
  const [newest, setNewest] = useState<{ key: string; page: RowPage<Row> } | null>(null);
  const asked = useInfiniteQuery({
    queryKey: key,
    queryFn: async ({ pageParam, signal }) => {
      const page = await read(pageParam, signal);
      // Waiting rows are in it, unless they no longer exist.
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
      await pause(rest - APART_MS); // which is awaited in addition
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

/** A request under way is older: if its answer came last, it would undo the newer one. */
async function settled(queries: QueryClient, key: readonly unknown[]): Promise<void> {
  const query = queries.getQueryCache().find({ queryKey: key, exact: true });
  if (query?.state.fetchStatus === "fetching") await query.promise?.catch(() => {});
}

/** The last answer, while the next query has none. */
function useLastGood<Row>(pages: RowPage<Row>[] | undefined, error: unknown) {
  const last = useRef<RowPage<Row>[]>(undefined);
  if (pages) last.current = pages;
  const kept = pages ?? (error ? undefined : last.current);
  return { pages: kept, isOld: pages === undefined && kept !== undefined };
}
