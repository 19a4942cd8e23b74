// The turn of a saved branch, in the shape in which the page shows any turn.
import type { RunSummary, TurnRecord } from "../../api/schema";
import { type SavedTurn, savedCall, savedTurn } from "../../conversation/savedTurn";
import type { Item } from "../../conversation/turn/turn";
import { isRecord, parsed } from "../../conversation/turn/wording";
import type { BranchTurn, Saved } from "./branches";

const MOST_ERROR = 400;

/** `record` has the sources of the turn, if they are known. */
export function savedMessages(
  turn: BranchTurn,
  run: RunSummary | null,
  record: TurnRecord | undefined,
): SavedTurn {
  const { question, messages } = turn;
  const results = new Map(
    messages.flatMap((each) => (each.role === "tool" ? [[keyOf(each), each] as const] : [])),
  );
  const last = messages.at(-1);
  const isAnswer = last?.role === "assistant" && last.calls.length === 0;
  const content = {
    requestId: null,
    traceId: run?.trace_id ?? null,
    question: question?.text ?? "",
    context: question?.context ?? "",
    at_us: question?.at_us ?? messages[0]?.at_us ?? 0,
    stopReason: question ? question.stop_reason : "completed",
    items: messages.flatMap((each) => (each === question ? [] : itemsOf(each, results))),
    answer: isAnswer ? last.text || null : null,
    sources: record?.sources,
  };
  return savedTurn(content, "assistant", run);
}

type SavedResult = Extract<Saved, { role: "tool" }>;

function itemsOf(message: Saved, results: ReadonlyMap<string, SavedResult>): Item[] {
  switch (message.role) {
    case "user":
      return [{ kind: "note", level: "info", text: `Guidance: ${message.text}` }];
    case "note":
      return [{ kind: "note", level: "info", text: message.text }];
    case "assistant": {
      const calls = message.calls.map((call) => {
        const result = results.get(keyOf(call));
        return savedCall(call, result ? resultOf(result) : null);
      });
      if (!message.text) return calls;
      return [{ kind: "text", turn: message.number, text: message.text }, ...calls];
    }
    case "tool":
      return []; // shown with its call
  }
}

function resultOf({ ok, content }: SavedResult) {
  const value = ok ? null : parsed(content);
  const error = isRecord(value) ? value.error : value;
  return { ok, text: typeof error === "string" ? error.slice(0, MOST_ERROR) : "", content };
}

const keyOf = ({ turn, slot }: { turn: number; slot: number }): string => `${turn}.${slot}`;
