// The state and result of a turn, from its events and the server's answer.
import type { SourceRange, TurnAnswer } from "../../api/schema";
import { rootOf, type Session, type Turn } from "./turn";
import { spentIn, stoppedBecause } from "./wording";

export interface Outcome {
  state: "running" | "done" | "failed" | "cancelled" | "interrupted";
  answer: string | null;
  trouble: { kind: "bad" | "quiet"; title: string; why: string | null; hint: string | null } | null;
  input: number | null;
  output: number | null;
  cost: number | null;
  /** Seconds. */
  duration: number | null;
  model: string | null;
  traceId: string | null;
  /** The lines of files that the model received. */
  sources: readonly SourceRange[];
}

interface Told {
  turn: Turn;
  /** The server's answer; null if there is none. */
  answer: TurnAnswer | null;
  /** The server no longer has the turn. */
  isForgotten: boolean;
}

export function outcomeOf({ turn, answer, isForgotten }: Told): Outcome {
  const root = rootOf(turn);
  const state = stateOf(root, answer, isForgotten);
  const final = answer?.final ?? null;
  const spent = spentIn(turn);
  return {
    state,
    // The answer is shown only after the server has checked it against the traces.
    answer: state === "running" ? null : (final?.text ?? root?.answer ?? null),
    trouble: troubleOf(state, root, answer, final?.stop_reason ?? root?.stopReason ?? null),
    input: final?.usage.input ?? spent.input,
    output: final?.usage.output ?? spent.output,
    cost: final?.cost ?? spent.cost,
    duration: root?.duration ?? null,
    model: root?.model ?? null,
    traceId: root ? traceOf(turn.requestId) : null,
    sources: final?.sources ?? [],
  };
}

/** A turn is recorded as the trace of its request. */
export function traceOf(requestId: string): string {
  return requestId.replaceAll("-", "");
}

function stateOf(
  root: Session | null,
  answer: TurnAnswer | null,
  isForgotten: boolean,
): Outcome["state"] {
  if (answer && answer.state !== "running") return answer.state;
  if (!isForgotten) return "running";
  return root === null || root.state === "running" ? "interrupted" : root.state;
}

function troubleOf(
  state: Outcome["state"],
  root: Session | null,
  answer: TurnAnswer | null,
  stopReason: string | null,
): Outcome["trouble"] {
  switch (state) {
    case "running":
      return null;
    case "done": {
      const why = stoppedBecause(stopReason);
      return why ? { kind: "quiet", title: why, why: null, hint: null } : null;
    }
    case "cancelled":
      return { kind: "quiet", title: "You stopped this turn.", why: null, hint: null };
    case "interrupted":
      return {
        kind: "bad",
        title: "The server stopped before this answer was complete.",
        why: null,
        hint: "The text received so far is saved. Ask again to get the rest.",
      };
    case "failed":
      return {
        kind: "bad",
        title: "No answer",
        why: answer?.error?.message ?? root?.error?.message ?? null,
        hint: answer?.error?.hint ?? root?.error?.hint ?? null,
      };
  }
}
