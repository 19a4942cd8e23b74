// The server's events. Their fields are those of the OpenAPI document.

/** An event by its type, with the fields that `GET /api/v1/events` documents. */
export interface LiveEvent {
  type: string;
  seq?: number;
  request_id?: string;
  [field: string]: unknown;
}

/** Some events are no longer available: all shown data must be read again. */
export const GAP = "gap";

/** The connection is open: from now on no event is missed. */
export const OPEN = "open";

/** Spans were written: lists and drawings of them may change. */
export const WRITTEN = ["SpanStarted", "SpanEnded", "SpansLeftOut"];

/** Spans are written a moment after they end: totals may change. */
export const RECORDED = ["SpanEnded", "SpansLeftOut"];

/** A turn begins or has ended. */
export const TURNS = ["SessionStarted", "SessionFinished", "SessionFailed", "SessionCancelled"];

/** A change to files was proposed or decided. */
export const EDITS = ["EditStaged", "EditApplied", "EditDenied", "EditFailed", "EditUndone"];
