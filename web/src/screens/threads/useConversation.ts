// The conversation of a thread, run by run: what each added to it.
import { type UseQueryResult, useQueries, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import type { RunSummary } from "../../api/schema";
import type { Message } from "../../components/messages/message";
import { addedByEach } from "./merging";
import { type Said, saidIn } from "./reading";

export interface Turn {
  run: RunSummary;
  /** What it added; null while it is loading. */
  messages: readonly Message[] | null;
  said: Said | null;
  error: unknown;
  retry: () => void;
}

/**
 * The turns of runs, which are listed newest first; returned oldest first. While there are earlier
 * runs, the oldest one is left out, since the messages before it are unknown.
 */
export function useConversation(runs: readonly RunSummary[], hasEarlier: boolean): readonly Turn[] {
  const queries = useQueryClient();
  const inOrder = useMemo(() => runs.toReversed(), [runs]);
  const read = useQueries({ queries: inOrder.map((run) => saidIn(run, queries)), combine });
  return useMemo(() => {
    const turns = inOrder.flatMap((run, at) => {
      const each = read[at];
      return each ? [{ run, ...each }] : [];
    });
    return hasEarlier ? turns.slice(1) : turns;
  }, [inOrder, read, hasEarlier]);
}

function combine(read: UseQueryResult<Said>[]): Omit<Turn, "run">[] {
  const added = addedByEach(read.map((each) => each.data ?? { request: [], reply: [] }));
  const firstUnread = read.findIndex((each) => each.isPending);
  return read.map((each, at) => ({
    // A run's part is known when all runs before it are.
    messages: each.data && (firstUnread < 0 || at < firstUnread) ? (added[at] ?? []) : null,
    said: each.data ?? null,
    error: each.error,
    retry: () => void each.refetch(),
  }));
}
