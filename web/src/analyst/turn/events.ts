// The events that a turn is shown from, with the fields that are read of them (docs/events).
import type { LiveEvent } from "../../live/events";

/** The place of a tool call within its session. */
export interface CallKey {
  turn: number;
  slot: number;
}

export interface Usage {
  input: number | null;
  output: number | null;
  cached: number | null;
  reasoning: number | null;
}

export interface Failure {
  kind: string;
  message: string;
  hint: string | null;
}

interface Spent {
  usage: Usage;
  cost: number | null;
  /** Seconds. */
  duration: number;
}

interface OfCall {
  key: CallKey;
}

interface Fields {
  SessionStarted: {
    parent_id: string | null;
    parent_key: CallKey | null;
    session_id: string;
    user_text: string;
    agent: string;
    model: string;
    provider: string;
  };
  SessionFinished: Spent & { text: string; stop_reason: string };
  SessionFailed: Spent & { message: string; hint: string | null };
  SessionCancelled: Spent;
  ModelRequestStarted: { operation_id: string; turn: number; purpose: string };
  ModelRequestFinished: { operation_id: string; turn: number; output_text: string | null };
  ModelDelta: { turn: number; text: string; reasoning: boolean };
  ModelWaiting: { text: string };
  MessageQueued: { text: string; steers: boolean };
  HistoryCompacted: { messages: number };
  RetryScheduled: { delay: number; reason: string };
  FallbackApplied: { reason: string; change: string };
  Notice: { level: string; text: string };
  ToolCallRequested: OfCall & { name: string; arguments: string };
  ToolProgress: OfCall & { text: string };
  ToolCallCompleted: OfCall & { content: string; ui: { summary: string }; duration: number };
  ToolCallFailed: OfCall & { error: Failure; duration: number };
  ApprovalRequested: OfCall & Question;
  ApprovalResolved: OfCall & { approval_id: string; scope: string; words: string | null };
  UiRequested: { page: string; request: { type: string } };
}

/** What a person is asked to allow. */
export interface Question {
  approval_id: string;
  name: string;
  summary: string;
  reason: string;
  subjects: readonly string[];
  proposal_id: string | null;
  /** What would change, as a unified diff. */
  preview: string | null;
}

export type TurnEvent = {
  [T in keyof Fields]: { type: T; seq: number; at: string; request_id: string } & Fields[T];
}[keyof Fields];

/** The types of the events that a turn is shown from. */
const TYPES: ReadonlySet<string> = new Set<TurnEvent["type"]>([
  "SessionStarted",
  "SessionFinished",
  "SessionFailed",
  "SessionCancelled",
  "ModelRequestStarted",
  "ModelRequestFinished",
  "ModelDelta",
  "ModelWaiting",
  "MessageQueued",
  "HistoryCompacted",
  "RetryScheduled",
  "FallbackApplied",
  "Notice",
  "ToolCallRequested",
  "ToolProgress",
  "ToolCallCompleted",
  "ToolCallFailed",
  "ApprovalRequested",
  "ApprovalResolved",
  "UiRequested",
]);

/** The event as one of those, if it is one: what the server says is taken at its word. */
export function turnEvent(event: LiveEvent | Record<string, unknown>): TurnEvent | null {
  return TYPES.has(String(event.type)) ? (event as unknown as TurnEvent) : null;
}
