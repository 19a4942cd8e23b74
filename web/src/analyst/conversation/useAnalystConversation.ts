// A conversation with an agent: its saved turns, its live turns, and the request that asks.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import { client, isNotFound, ok } from "../../api/client";
import type { AgentConversation, PageContext, TurnAnswer } from "../../api/schema";
import type { LiveTurn } from "../../conversation/LiveTurnView";
import { useLiveEvents } from "../../live/LiveProvider";
import { pageId } from "../../mirror/pageId";
import { NEW } from "../dock";

export interface Question {
  question: string;
  agent: string;
  model: string | null;
  context: PageContext;
}

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const LIVE_KEPT_MS = 30 * 60_000;

export const conversationsKey = ["analyst", "conversations"] as const;
const conversationKey = (id: string) => ["analyst", "conversation", id] as const;
const liveKey = (id: string) => ["analyst", "live", id] as const;

export function useAnalystConversation(id: string) {
  const isId = ID.test(id);
  const saved = useQuery({
    queryKey: conversationKey(id),
    queryFn: ({ signal }) =>
      ok(
        client.GET("/api/v1/agents/conversations/{conversation}", {
          params: { path: { conversation: id } },
          signal,
        }),
      ),
    enabled: isId, // the server refuses anything else
    staleTime: Number.POSITIVE_INFINITY, // events report every change
  });
  const live = useQuery<readonly LiveTurn[]>({
    queryKey: liveKey(id),
    queryFn: () => [],
    enabled: false,
    initialData: [],
    gcTime: LIVE_KEPT_MS,
  });
  useForeignTurns(id);
  const isUnknown = isNotFound(saved.error);
  const isGone = isUnknown || !(isId || id === NEW);
  return { saved: isUnknown ? null : (saved.data ?? null), live: live.data, isGone, query: saved };
}

/** Follows questions that another page or program asks in this conversation. */
function useForeignTurns(id: string): void {
  const follow = useFollow();
  useLiveEvents(["SessionStarted"], (event) => {
    if (event.session_id !== id || !event.request_id) return;
    follow(id, { requestId: event.request_id, question: String(event.user_text) });
  });
}

function useFollow(): (conversation: string, turn: LiveTurn) => void {
  const queries = useQueryClient();
  return useCallback(
    (conversation, turn) => {
      queries.setQueryData<readonly LiveTurn[]>(liveKey(conversation), (now = []) =>
        now.some((each) => each.requestId === turn.requestId) ? now : [...now, turn],
      );
      void queries.invalidateQueries({ queryKey: conversationsKey });
    },
    [queries],
  );
}

/** Asks in a conversation. `onBegun` receives the id of a new conversation. */
export function useAsk(id: string, onBegun: (conversation: string) => void) {
  const follow = useFollow();
  return useMutation({
    mutationFn: (asked: Question) => begin(id, asked),
    onSuccess: (turn, asked) => {
      const conversation = turn.conversation_id ?? id;
      follow(conversation, { requestId: turn.request_id, question: asked.question });
      if (conversation !== id) onBegun(conversation);
    },
  });
}

function begin(id: string, { question, agent, model, context }: Question): Promise<TurnAnswer> {
  return ok(
    client.POST("/api/v1/agents/{name}/ask", {
      params: { path: { name: agent } },
      body: {
        question,
        context,
        model,
        conversation: id === NEW ? null : id,
        stream: true,
        page_id: pageId(),
      },
    }),
  );
}

type Exchange = AgentConversation["exchanges"][number];

/** A turn of a conversation: live, and maybe saved too, or saved only. */
export type ShownTurn =
  | { turn: LiveTurn; exchange: Exchange | null }
  | { turn: null; exchange: Exchange };

/** The turns in order. A turn without an end is followed, since it may still run. */
export function shownOf(
  saved: AgentConversation | null,
  live: readonly LiveTurn[],
): readonly ShownTurn[] {
  const followed = new Set(live.map((turn) => turn.requestId));
  const exchanges = saved?.exchanges ?? [];
  const known = new Set(exchanges.map((exchange) => exchange.request_id));
  return [
    ...exchanges.map((exchange): ShownTurn => {
      const { request_id: requestId, question } = exchange;
      const isLive = requestId && (exchange.stop_reason === null || followed.has(requestId));
      return { turn: isLive ? { requestId, question } : null, exchange };
    }),
    ...live
      .filter((turn) => !known.has(turn.requestId))
      .map((turn): ShownTurn => ({ turn, exchange: null })),
  ];
}
