// The events from which a turn is shown.
import type { components } from "../../api/schema";
import type { LiveEvent } from "../../live/events";

type Schemas = components["schemas"];
type Any = Schemas["Event"];
export type EventOf<T extends Any["type"]> = Extract<Any, { type: T }>;

const TYPES = [
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
] as const;

export type TurnEvent = EventOf<(typeof TYPES)[number]>;
export type CallKey = EventOf<"ToolCallRequested">["key"];
export type Usage = EventOf<"SessionFinished">["usage"];
export type Failure = EventOf<"ToolCallFailed">["error"];
/** The question of a permission. */
export type Question = Omit<EventOf<"ApprovalRequested">, "type" | "seq" | "at" | "origin_seq">;

const KNOWN: ReadonlySet<string> = new Set(TYPES);

/** The event as one of these types, if it is one. The fields are not validated. */
export function turnEvent(event: LiveEvent | Record<string, unknown>): TurnEvent | null {
  return KNOWN.has(String(event.type)) ? (event as unknown as TurnEvent) : null;
}
