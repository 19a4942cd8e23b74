// The events of the server as the page hears them; their fields are those of the API document.

/** An event by its type, with the fields that `GET /api/v1/events` documents for it. */
export interface LiveEvent {
  type: string;
  seq?: number;
  request_id?: string;
  [field: string]: unknown;
}

/** Some events can be had no more: all that is shown is to be read again. */
export const GAP = "gap";

/** The connection is open: from here on nothing is missed. */
export const OPEN = "open";

/** Spans were written: what lists or draws them may be another. */
export const WRITTEN = ["SpanStarted", "SpanEnded", "SpansLeftOut"];

/** Spans are recorded to their end, a moment after what they are of: sums may be others. */
export const RECORDED = ["SpanEnded", "SpansLeftOut"];

/** A turn begins or is over. */
export const TURNS = ["SessionStarted", "SessionFinished", "SessionFailed", "SessionCancelled"];

/** A change to files was proposed or decided about. */
export const EDITS = ["EditStaged", "EditApplied", "EditDenied", "EditFailed", "EditUndone"];
