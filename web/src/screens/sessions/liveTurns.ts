// The live turns of a conversation, started here or elsewhere, each with its question.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect } from "react";
import { client, ok } from "../../api/client";
import type { Session } from "../../api/schema";
import type { LiveTurn } from "../../conversation/LiveTurnView";
import { useLiveEvents } from "../../live/LiveProvider";
import { openFrom } from "./branches";
import { sessionKey } from "./queries";

const KEPT_MS = 30 * 60_000;
const liveKey = (id: string) => ["session-live", id] as const;

export interface Followed {
  turns: readonly LiveTurn[];
  /** The saved messages from this index of the branch on belong to the live turns. */
  from: number;
}

const NONE: Followed = { turns: [], from: Number.POSITIVE_INFINITY };

/** Whether a conversation was started on this page, and so may not be saved yet. */
export function useIsBegunHere(id: string): boolean {
  return (useQueryClient().getQueryData<Followed>(liveKey(id))?.turns.length ?? 0) > 0;
}

export function useLiveTurns(id: string, session: Session | undefined) {
  const queries = useQueryClient();
  const follow = useFollow();
  const live = useQuery<Followed>({
    queryKey: liveKey(id),
    queryFn: () => NONE,
    enabled: false,
    initialData: NONE,
    gcTime: KEPT_MS,
  });
  useLiveEvents(["SessionStarted"], (event) => {
    if (event.session_id !== id || event.parent_id || !event.request_id) return;
    follow(id, { requestId: event.request_id, question: String(event.user_text) });
  });
  useRunning(id, session, follow);
  const forget = useCallback(() => {
    queries.setQueryData<Followed>(liveKey(id), NONE);
  }, [queries, id]);
  return { ...live.data, forget };
}

type Follow = (id: string, turn: LiveTurn, from?: number) => void;

function useFollow(): Follow {
  const queries = useQueryClient();
  return useCallback(
    (id, turn, from) => {
      const session = queries.getQueryData<Session>(sessionKey(id));
      const place = from ?? session?.branch.length ?? 0;
      queries.setQueryData<Followed>(liveKey(id), (now = NONE) =>
        now.turns.some((each) => each.requestId === turn.requestId)
          ? now
          : { turns: [...now.turns, turn], from: Math.min(now.from, place) },
      );
    },
    [queries],
  );
}

/** Turns that were running when the conversation was opened. */
function useRunning(id: string, session: Session | undefined, follow: Follow): void {
  const from = session ? openFrom(session) : null;
  const running = useQuery({
    queryKey: ["turns", "of", id],
    queryFn: ({ signal }) => ok(client.GET("/api/v1/turns", { signal })),
    enabled: from !== null,
  });
  const question = session?.messages.findLast((each) => each.role === "user" && !each.steers);
  const words = question?.role === "user" ? question.text : "";
  useEffect(() => {
    if (from === null) return;
    for (const turn of running.data?.data ?? []) {
      if (turn.session_id === id) follow(id, { requestId: turn.request_id, question: words }, from);
    }
  }, [id, from, words, running.data, follow]);
}

interface Sent {
  text: string;
  /** Null starts a new conversation. */
  session: string | null;
  /** PROVIDER/MODEL; null: the configured model. */
  model: string | null;
}

/** Sends a message; `onBegun` receives the conversation, which may be new. */
export function useSend(onBegun?: (session: string) => void) {
  const follow = useFollow();
  return useMutation({
    mutationFn: (sent: Sent) =>
      ok(client.POST("/api/v1/turns", { body: { ...sent, stream: true, tools: true } })),
    onSuccess: (turn, sent) => {
      const session = turn.session_id ?? sent.session;
      if (!session) return;
      follow(session, { requestId: turn.request_id, question: sent.text });
      onBegun?.(session);
    },
  });
}

export function useSteer() {
  return useMutation({
    mutationFn: ({ requestId, text }: { requestId: string; text: string }) =>
      ok(
        client.POST("/api/v1/turns/{request_id}/steer", {
          params: { path: { request_id: requestId } },
          body: { text },
        }),
      ),
  });
}
