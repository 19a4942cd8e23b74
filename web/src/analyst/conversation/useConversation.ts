// A conversation with an agent: what was saved of it, what is asked now, and the way to ask.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import { client, isNotFound, ok } from "../../api/client";
import type { AgentConversation, PageContext, TurnAnswer } from "../../api/schema";
import { useLiveEvents } from "../../live/LiveProvider";
import { pageId } from "../../mirror/pageId";
import { NEW } from "../dock";

/** A turn that is followed: its events tell more than is saved of it. */
export interface LiveTurn {
  requestId: string;
  question: string;
}

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

export function useConversation(id: string) {
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
    enabled: isId, // what is none would only be refused
    staleTime: Number.POSITIVE_INFINITY, // what happens in it is followed by its events
  });
  const live = useQuery<readonly LiveTurn[]>({
    queryKey: liveKey(id),
    queryFn: () => [],
    enabled: false,
    initialData: [],
    gcTime: LIVE_KEPT_MS,
  });
  useHearing(id);
  const isUnknown = isNotFound(saved.error);
  const isGone = isUnknown || !(isId || id === NEW);
  return { saved: isUnknown ? null : (saved.data ?? null), live: live.data, isGone, query: saved };
}

/** Another page, or a program, may ask in the same conversation. */
function useHearing(id: string): void {
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

/** Ask in a conversation; `onBegun` is told which one it is, since a new one has its id then. */
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

/** What is shown of a conversation, in order: a turn that is live is followed, any other read. */
export type Shown =
  | { kind: "live"; turn: LiveTurn }
  | { kind: "saved"; exchange: AgentConversation["exchanges"][number] };

export function shownOf(
  saved: AgentConversation | null,
  live: readonly LiveTurn[],
): readonly Shown[] {
  const followed = new Set(live.map((turn) => turn.requestId));
  const before = (saved?.exchanges ?? []).map((exchange): Shown => {
    const requestId = exchange.request_id;
    // One that has not ended is followed: it may still run.
    if (requestId && (exchange.stop_reason === null || followed.has(requestId))) {
      return { kind: "live", turn: { requestId, question: exchange.question } };
    }
    return { kind: "saved", exchange };
  });
  const told = new Set(before.map((each) => (each.kind === "live" ? each.turn.requestId : "")));
  const rest = live.filter((turn) => !told.has(turn.requestId));
  return [...before, ...rest.map((turn): Shown => ({ kind: "live", turn }))];
}
