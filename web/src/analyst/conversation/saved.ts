// A turn as it was saved, in the shape in which a live one is shown: what its agents did below its
// calls is not saved with it, but recorded in its trace.
import type { AgentConversation, Run } from "../../api/schema";
import type { Outcome } from "../turn/outcome";
import type { Call, Item, Session, Turn } from "../turn/turn";
import { stoppedBecause } from "../turn/wording";

export type Exchange = AgentConversation["exchanges"][number];
type Step = Exchange["steps"][number];

export function savedTurn(exchange: Exchange, agent: string): Turn {
  const requestId = exchange.request_id ?? `saved ${exchange.at_us}`;
  const session: Session = {
    requestId,
    parentId: null,
    parentKey: null,
    agent,
    model: "",
    items: exchange.steps.flatMap(itemsOf),
    state: "done",
    answer: exchange.answer || null,
    stopReason: exchange.stop_reason,
    error: null,
    usage: null,
    cost: null,
    duration: null,
    startedAt: exchange.at_us / 1_000,
    waiting: null,
    summing: null,
  };
  return { requestId, seq: 0, isQueued: false, sessions: { [requestId]: session } };
}

/** `run`: what was recorded of it, where that is known. */
export function savedOutcome(exchange: Exchange, run: Run | null): Outcome {
  const state = stateOf(exchange.stop_reason);
  const [model, ...others] = run?.models ?? [];
  return {
    input: run?.sums.tokens.input ?? null,
    output: run?.sums.tokens.output ?? null,
    cost: run?.sums.cost ?? null,
    duration: run?.duration_us == null ? null : run.duration_us / 1e6,
    model: others.length === 0 ? (model ?? null) : null,
    state,
    answer: exchange.answer || null,
    trouble: troubleOf(state, exchange.stop_reason),
    traceId: exchange.trace_id,
  };
}

function stateOf(reason: string | null): Outcome["state"] {
  if (reason === null) return "interrupted"; // what still runs is followed, not read
  return reason === "failed" || reason === "cancelled" ? reason : "done";
}

function troubleOf(state: Outcome["state"], reason: string | null): Outcome["trouble"] {
  switch (state) {
    case "failed":
      return { kind: "bad", title: "It failed.", why: null, hint: "Its trace says why." };
    case "cancelled":
      return { kind: "quiet", title: "You stopped it.", why: null, hint: null };
    case "interrupted":
      return {
        kind: "bad",
        title: "The server ended in the middle of this answer.",
        why: null,
        hint: "What was said until then is kept. Ask again for the rest.",
      };
    default: {
      const why = stoppedBecause(reason);
      return why ? { kind: "quiet", title: why, why: null, hint: null } : null;
    }
  }
}

function itemsOf(step: Step): Item[] {
  const calls = step.calls.map(callOf);
  const turn = step.calls[0]?.turn ?? -1;
  return step.text ? [{ kind: "text", turn, text: step.text }, ...calls] : calls;
}

function callOf(made: Step["calls"][number]): Call {
  const hasFailed = made.ok === false;
  return {
    kind: "call",
    key: { turn: made.turn, slot: made.slot },
    name: made.name,
    arguments: made.arguments,
    startedAt: 0,
    state: made.ok ? "done" : "failed",
    summary: hasFailed ? null : made.summary,
    content: null,
    failure: made.ok
      ? null
      : { kind: null, message: made.summary ?? "It has no result.", hint: null },
    duration: null,
    progress: null,
    approvals: [],
    pages: [],
  };
}
