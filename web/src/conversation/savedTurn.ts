// A saved turn in the shape of a live one, so that both look the same.
import type { AgentConversation, RunSummary, SourceRange } from "../api/schema";
import type { Outcome } from "./turn/outcome";
import type { Call, Item, Turn } from "./turn/turn";
import { stoppedBecause } from "./turn/wording";

export interface SavedTurn {
  question: string;
  /** What was sent to the model together with the question. */
  context: string;
  /** The request of its events; null if it is unknown. */
  requestId: string | null;
  turn: Turn;
  outcome: Outcome;
}

/** The content of a saved turn, whoever answered it. */
export interface SavedContent {
  requestId: string | null;
  traceId: string | null;
  question: string;
  context: string;
  at_us: number;
  stopReason: string | null;
  items: readonly Item[];
  answer: string | null;
  sources?: readonly SourceRange[] | undefined;
}

/** `run` is the recorded run of the turn, if it is known: it has the cost and the duration. */
export function savedTurn(content: SavedContent, agent: string, run: RunSummary | null): SavedTurn {
  const { requestId, question, context } = content;
  const id = requestId ?? `saved ${content.at_us}`;
  const session = {
    requestId: id,
    parentId: null,
    parentKey: null,
    agent,
    model: "",
    items: content.items,
    state: "done" as const,
    answer: content.answer,
    stopReason: content.stopReason,
    error: null,
    usage: null,
    cost: null,
    duration: null,
    startedAt: content.at_us / 1_000,
    waiting: null,
    summing: null,
  };
  return {
    question,
    context,
    requestId,
    turn: { requestId: id, seq: 0, isQueued: false, sessions: { [id]: session } },
    outcome: outcomeOf(content, run),
  };
}

type Exchange = AgentConversation["exchanges"][number];

/** A question to an agent. What the agents did that it called is recorded in its trace only. */
export function savedExchange(
  exchange: Exchange,
  agent: string,
  run: RunSummary | null,
): SavedTurn {
  const content = {
    requestId: exchange.request_id,
    traceId: exchange.trace_id,
    question: exchange.question,
    context: "",
    at_us: exchange.at_us,
    stopReason: exchange.stop_reason,
    items: exchange.steps.flatMap(itemsOfStep),
    answer: exchange.answer || null,
  };
  return savedTurn(content, agent, run);
}

function itemsOfStep({ text, calls }: Exchange["steps"][number]): Item[] {
  const items = calls.map((call) =>
    savedCall(call, call.ok === null ? null : { ok: call.ok, text: call.summary ?? "" }),
  );
  return text ? [{ kind: "text", turn: calls[0]?.turn ?? -1, text }, ...items] : items;
}

interface SavedRequest {
  turn: number;
  slot: number;
  name: string;
  /** JSON text as the model wrote it. */
  arguments: string;
}

interface SavedResult {
  ok: boolean;
  /** The summary, or the error of a failed call. Empty if neither is saved. */
  text: string;
  /** The whole result, if it is saved. */
  content?: string | null;
}

/** A call; `result` is null if none is saved. */
export function savedCall(request: SavedRequest, result: SavedResult | null): Call {
  const hasSucceeded = result?.ok === true;
  return {
    kind: "call",
    key: { turn: request.turn, slot: request.slot },
    name: request.name,
    arguments: request.arguments,
    startedAt: 0,
    state: hasSucceeded ? "done" : "failed",
    summary: hasSucceeded ? result.text || null : null,
    content: result?.content ?? null,
    failure: hasSucceeded
      ? null
      : { kind: null, message: result?.text || "No result is recorded.", hint: null },
    duration: null,
    progress: null,
    approvals: [],
    pages: [],
  };
}

function outcomeOf(content: SavedContent, run: RunSummary | null): Outcome {
  const state = stateOf(content.stopReason);
  const [model, ...others] = run?.models ?? [];
  return {
    input: run?.sums.tokens.input ?? null,
    output: run?.sums.tokens.output ?? null,
    cost: run?.sums.cost ?? null,
    duration: run?.duration_us == null ? null : run.duration_us / 1e6,
    model: others.length === 0 ? (model ?? null) : null,
    state,
    answer: content.answer,
    trouble: troubleOf(state, content.stopReason),
    traceId: content.traceId ?? run?.trace_id ?? null,
    sources: content.sources ?? [],
  };
}

function stateOf(reason: string | null): Outcome["state"] {
  if (reason === null) return "interrupted";
  return reason === "failed" || reason === "cancelled" ? reason : "done";
}

function troubleOf(state: Outcome["state"], reason: string | null): Outcome["trouble"] {
  switch (state) {
    case "failed":
      return {
        kind: "bad",
        title: "The turn failed.",
        why: null,
        hint: "The trace shows the reason.",
      };
    case "cancelled":
      return { kind: "quiet", title: "You stopped this turn.", why: null, hint: null };
    case "interrupted":
      return {
        kind: "quiet",
        title: "No end is recorded.",
        why: null,
        hint: "The turn still runs in another program, or that program stopped before the turn ended.",
      };
    default: {
      const why = stoppedBecause(reason);
      return why ? { kind: "quiet", title: why, why: null, hint: null } : null;
    }
  }
}
