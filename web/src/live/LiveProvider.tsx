// Gives the page its live events. Components subscribe by event type.
import { type Query, type QueryClient, useQueryClient } from "@tanstack/react-query";
import {
  createContext,
  type ReactNode,
  useContext,
  useEffect,
  useRef,
  useSyncExternalStore,
} from "react";
import { ApiError, getJson } from "../api/client";
import { pageId } from "../mirror/pageId";
import { GAP, type LiveEvent, OPEN } from "./events";
import { type Connection, LiveSocket } from "./socket";

const LiveContext = createContext<LiveSocket | null>(null);

function addressOf(after: number | null): string {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const query = new URLSearchParams({ page: pageId(), approve: "true" });
  if (after !== null) query.set("after", String(after));
  return `${scheme}://${location.host}/api/v1/events/socket?${query}`;
}

async function isRefused(): Promise<boolean> {
  try {
    await getJson("/api/v1/health");
  } catch (error) {
    return error instanceof ApiError && error.status === 401;
  }
  return false;
}

export function LiveProvider({ children, socket }: { children: ReactNode; socket?: LiveSocket }) {
  const queries = useQueryClient();
  const live = useRef<LiveSocket>(null);
  live.current ??= socket ?? new LiveSocket(addressOf, isRefused);
  useEffect(() => {
    const current = live.current;
    if (!current) return;
    const stop = current.listen((event) => {
      if (event.type === GAP) void queries.invalidateQueries();
      if (event.type === OPEN) void readAgain(queries);
    });
    current.open();
    return () => {
      stop();
      current.close();
    };
  }, [queries]);
  return <LiveContext value={live.current}>{children}</LiveContext>;
}

/** Data that was read before may be older than the first live event, and so may pending answers. */
async function readAgain(queries: QueryClient): Promise<void> {
  const first = queries.getQueryCache().findAll({ predicate: isFirstReading });
  await queries.invalidateQueries({ predicate: (query) => query.state.dataUpdatedAt > 0 });
  await Promise.allSettled(first.map((query) => query.promise));
  await queries.invalidateQueries({ predicate: (query) => first.includes(query) });
}

function isFirstReading({ state }: Query): boolean {
  return state.dataUpdatedAt === 0 && state.fetchStatus === "fetching";
}

function useSocket(): LiveSocket {
  const socket = useContext(LiveContext);
  if (!socket) throw new Error("LiveProvider is missing");
  return socket;
}

/**
 * Subscribes to events of these types (to all if none are given). After missed events, `gap` is
 * delivered too.
 */
export function useLiveEvents(
  types: readonly string[] | null,
  hear: (event: LiveEvent) => void,
): void {
  const socket = useSocket();
  const newest = useRef({ types, hear });
  useEffect(() => {
    newest.current = { types, hear };
  });
  useEffect(
    () =>
      socket.listen((event) => {
        const wanted = newest.current;
        if (event.type === GAP || wanted.types === null || wanted.types.includes(event.type)) {
          wanted.hear(event);
        }
      }),
    [socket],
  );
}

/** The state of the connection, and a function that reconnects at once. */
export function useConnection(): Connection & { retryNow: () => void } {
  const socket = useSocket();
  const connection = useSyncExternalStore(socket.watch, () => socket.connection);
  return { ...connection, retryNow: socket.retryNow };
}
