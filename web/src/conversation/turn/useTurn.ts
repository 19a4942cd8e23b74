// Follows a turn: its events, and its state on the server.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useSyncExternalStore } from "react";
import { client, isNotFound, ok } from "../../api/client";
import type { TurnAnswer } from "../../api/schema";
import { useConnection, useLiveEvents } from "../../live/LiveProvider";
import { type Fed, TurnFeed } from "./feed";
import { rootOf } from "./turn";

const LOOK_MS = 3_000;
const END_SECONDS = 10; // seconds: little is left to do after the last event

export interface FollowedTurn extends Fed {
  /** The server's answer; null before the first one. */
  answer: TurnAnswer | null;
  /** The server no longer has the turn: it restarted, or the turn is long ago. */
  isForgotten: boolean;
  readAgain: () => void;
}

export function useTurn(requestId: string): FollowedTurn {
  const fed = useFeed(requestId);
  const queries = useQueryClient();
  const key = useMemo(() => ["turn", requestId] as const, [requestId]);
  const root = rootOf(fed.turn);
  const hasEnded = root !== null && root.state !== "running";
  const asked = useQuery({
    queryKey: key,
    queryFn: ({ signal }) =>
      ok(
        client.GET("/api/v1/turns/{request_id}", {
          params: { path: { request_id: requestId }, query: hasEnded ? { wait: END_SECONDS } : {} },
          signal,
        }),
      ),
    refetchInterval: (query) => (query.state.data?.state === "running" ? LOOK_MS : false),
    staleTime: Number.POSITIVE_INFINITY,
  });
  useEffect(() => {
    if (hasEnded) void queries.invalidateQueries({ queryKey: key });
  }, [hasEnded, queries, key]);
  const isForgotten = isNotFound(asked.error);
  return { ...fed, answer: asked.data ?? null, isForgotten };
}

function useFeed(requestId: string): Fed & { readAgain: () => void } {
  const feed = useMemo(
    () =>
      new TurnFeed(requestId, async (signal) => {
        const asked = client.GET("/api/v1/turns/{request_id}/events", {
          params: { path: { request_id: requestId } },
          signal,
        });
        return (await ok(asked)).data;
      }),
    [requestId],
  );
  const { state } = useConnection();
  const isOpen = state === "open";
  useLiveEvents(null, (event) => feed.hear(event));
  // Live events begin when the connection is open. Only then can the earlier ones be read
  // completely.
  useEffect(() => {
    if (isOpen && feed.shown.state === "loading") void feed.start();
  }, [feed, isOpen]);
  useEffect(() => () => feed.stop(), [feed]);
  const fed = useSyncExternalStore(feed.watch, () => feed.shown);
  return { ...fed, readAgain: () => void feed.start() };
}
