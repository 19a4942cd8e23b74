// The data and actions of the session screens.
import {
  keepPreviousData,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { client, isNotFound, ok } from "../../api/client";
import type { Session } from "../../api/schema";
import { traceOf } from "../../conversation/turn/outcome";
import { EDITS, RECORDED, TURNS } from "../../live/events";
import { useLiveRefresh } from "../../live/useLiveRefresh";

const PAGE = 50;
const LIST = ["sessions"] as const;
const MOST_RUNS = 200;
const RECORDED_MS = 2_000; // minimum time between two reads of the traces
const MOST_PROPOSALS = 1_000;

export const sessionKey = (id: string) => ["session", id] as const;

export function useSessions() {
  const queries = useQueryClient();
  useLiveRefresh(TURNS, () => queries.invalidateQueries({ queryKey: LIST }));
  return useInfiniteQuery({
    queryKey: LIST,
    queryFn: ({ pageParam, signal }) => {
      const query = { limit: PAGE, offset: pageParam };
      return ok(client.GET("/api/v1/sessions", { params: { query }, signal }));
    },
    initialPageParam: 0,
    getNextPageParam: ({ pagination }) =>
      pagination.more ? pagination.offset + pagination.limit : undefined,
  });
}

/** The cost of conversations by their ids: each is recorded as the thread of its id. */
export function useCosts(ids: readonly string[]) {
  const queries = useQueryClient();
  const queryKey = [...LIST, "costs", ids];
  useLiveRefresh(
    RECORDED,
    () => queries.invalidateQueries({ queryKey }),
    ids.length > 0,
    () => true,
    RECORDED_MS,
  );
  return useQuery({
    queryKey,
    queryFn: async ({ signal }) => {
      const query = { thread_ids: [...ids], limit: ids.length };
      const found = await ok(client.GET("/api/v1/threads", { params: { query }, signal }));
      return new Map(found.data.map((thread) => [thread.thread_id, thread.sums.cost]));
    },
    enabled: ids.length > 0,
    placeholderData: keepPreviousData,
  });
}

/** A conversation; with `isSaved` false it is too new to be read. */
export function useSession(id: string, isSaved: boolean) {
  const found = useQuery({
    queryKey: sessionKey(id),
    queryFn: ({ signal }) =>
      ok(client.GET("/api/v1/sessions/{session}", { params: { path: { session: id } }, signal })),
    enabled: isSaved,
    staleTime: Number.POSITIVE_INFINITY, // events report every change
  });
  return { ...found, isGone: isNotFound(found.error) };
}

/** The runs of a conversation, newest first. Each is a trace. */
export function useRuns(id: string) {
  const queries = useQueryClient();
  const queryKey = ["session-runs", id];
  useLiveRefresh(
    RECORDED,
    () => queries.invalidateQueries({ queryKey }),
    true,
    () => true,
    RECORDED_MS,
  );
  return useQuery({
    queryKey,
    queryFn: ({ signal }) => {
      const query = { thread_ids: [id], limit: MOST_RUNS };
      return ok(client.GET("/api/v1/runs", { params: { query }, signal }));
    },
  });
}

/** The recorded turns of a conversation, by the ids of their traces. */
export function useTurnRecords(id: string, isSaved: boolean) {
  const queries = useQueryClient();
  const queryKey = ["session-turns", id];
  useLiveRefresh(
    RECORDED,
    () => queries.invalidateQueries({ queryKey }),
    isSaved,
    () => true,
    RECORDED_MS,
  );
  return useQuery({
    queryKey,
    queryFn: async ({ signal }) => {
      const params = { path: { session: id } };
      const { data } = await ok(client.GET("/api/v1/sessions/{session}/turns", { params, signal }));
      return new Map(Object.entries(data).map(([turn, record]) => [traceOf(turn), record]));
    },
    enabled: isSaved,
  });
}

export function useProposalsOf(id: string) {
  const queries = useQueryClient();
  const queryKey = ["proposals", "session", id];
  useLiveRefresh(EDITS, () => queries.invalidateQueries({ queryKey }));
  return useQuery({
    queryKey,
    queryFn: async ({ signal }) => {
      const params = { query: { limit: MOST_PROPOSALS } };
      const found = await ok(client.GET("/api/v1/proposals", { params, signal }));
      return found.data.filter((proposal) => proposal.session_id === id);
    },
  });
}

export function useChange(id: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: { title?: string; at?: number; mode?: Session["mode"] }) =>
      ok(client.PATCH("/api/v1/sessions/{session}", { params: { path: { session: id } }, body })),
    onSuccess: (changed: Session) => {
      queries.setQueryData(sessionKey(id), changed);
      void queries.invalidateQueries({ queryKey: LIST });
    },
  });
}

/** `leave` closes the screen that shows it. Until then nothing of it is read again. */
export function useDelete(id: string, leave: () => Promise<void>) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () =>
      ok(client.DELETE("/api/v1/sessions/{session}", { params: { path: { session: id } } })),
    onSuccess: async () => {
      void queries.invalidateQueries({ queryKey: LIST });
      await leave();
    },
  });
}
