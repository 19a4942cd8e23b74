// The state of a turn, built from its events one after the other. Everything here is immutable, so
// that only changes are rendered again.
import type { CallKey, EventOf, Failure, Question, TurnEvent, Usage } from "./events";

export interface Approval extends Question {
  /** The given answer; null while it waits. */
  scope: string | null;
  words: string | null;
}

export interface Call {
  kind: "call";
  key: CallKey;
  name: string;
  /** The JSON that the model wrote. */
  arguments: string;
  /** Milliseconds of Date.now(). */
  startedAt: number;
  state: "running" | "done" | "failed";
  summary: string | null;
  content: string | null;
  /** `kind` is null if it is unknown. */
  failure: { kind: Failure["kind"] | null; message: string; hint: string | null } | null;
  /** Seconds. */
  duration: number | null;
  progress: string | null;
  approvals: readonly Approval[];
  /** The pages that it asked to act. */
  pages: readonly string[];
}

/** A part of a model's reply; `turn` is the number of the reply. */
export interface Said {
  kind: "text" | "reasoning";
  turn: number;
  text: string;
}

export interface Note {
  kind: "note";
  level: "info" | "warning" | "error";
  text: string;
}

export type Item = Call | Said | Note;
export type Ending = "done" | "failed" | "cancelled";

/** What one agent does: the one that a person asked, or one that it called. */
export interface Session {
  requestId: string;
  /** The request and the call that started it; null for the one that a person asked. */
  parentId: string | null;
  parentKey: CallKey | null;
  agent: string;
  model: string;
  items: readonly Item[];
  state: "running" | Ending;
  answer: string | null;
  stopReason: string | null;
  error: { message: string; hint: string | null } | null;
  usage: Usage | null;
  cost: number | null;
  duration: number | null;
  startedAt: number;
  /** The message while a provider is silent. */
  waiting: string | null;
  /** The model request that writes a summary: its text is not for the person. */
  summing: string | null;
}

export interface Turn {
  requestId: string;
  /** The number of the newest applied event. */
  seq: number;
  /** It waits for the turn before it. */
  isQueued: boolean;
  /** By request id. */
  sessions: Readonly<Record<string, Session>>;
}

export function emptyTurn(requestId: string): Turn {
  return { requestId, seq: 0, isQueued: false, sessions: {} };
}

/**
 * The turn after an event; the same object if the event belongs to another turn, or was applied.
 */
export function applied(turn: Turn, event: TurnEvent): Turn {
  // The page's own server publishes requests to the page, also those of a turn at another server.
  const seq = event.type === "UiRequested" ? turn.seq : numberOf(event);
  if (event.type !== "UiRequested" && seq <= turn.seq) return turn;
  if (event.type === "SessionStarted") return begun(turn, event, seq);
  const session = turn.sessions[event.request_id];
  if (event.type === "MessageQueued") {
    const waits = event.request_id === turn.requestId && !event.steers && !session;
    return waits ? { ...turn, seq, isQueued: true } : turn;
  }
  if (!session) return turn;
  const next = changed(session, event);
  const sessions =
    next === session ? turn.sessions : { ...turn.sessions, [session.requestId]: next };
  return { ...turn, seq, sessions };
}

/** The number of an event at the server that runs the turn. */
function numberOf(event: TurnEvent): number {
  return event.origin_seq ?? event.seq;
}

export function appliedAll(turn: Turn, events: readonly TurnEvent[]): Turn {
  return events.reduce(applied, turn);
}

export function rootOf(turn: Turn): Session | null {
  return turn.sessions[turn.requestId] ?? null;
}

/** The sessions that a call started, in order. */
export function begunBy(turn: Turn, requestId: string, key: CallKey): readonly Session[] {
  return Object.values(turn.sessions).filter(
    (each) => each.parentId === requestId && each.parentKey && same(each.parentKey, key),
  );
}

function begun(turn: Turn, event: EventOf<"SessionStarted">, seq: number): Turn {
  const isRoot = event.request_id === turn.requestId;
  if (!isRoot && !(event.parent_id && turn.sessions[event.parent_id])) return turn;
  const session: Session = {
    requestId: event.request_id,
    parentId: isRoot ? null : event.parent_id,
    parentKey: event.parent_key,
    agent: event.agent,
    model: event.model,
    items: [],
    state: "running",
    answer: null,
    stopReason: null,
    error: null,
    usage: null,
    cost: null,
    duration: null,
    startedAt: Date.parse(event.at),
    waiting: null,
    summing: null,
  };
  const sessions = { ...turn.sessions, [session.requestId]: session };
  return { ...turn, seq, isQueued: false, sessions };
}

function changed(session: Session, event: TurnEvent): Session {
  switch (event.type) {
    case "SessionFinished":
      return ended(session, event, "done", { answer: event.text, stopReason: event.stop_reason });
    case "SessionFailed":
      return ended(session, event, "failed", {
        error: { message: event.message, hint: event.hint },
      });
    case "SessionCancelled":
      return ended(session, event, "cancelled", {});
    case "ModelRequestStarted":
      return asked(session, event);
    case "ModelRequestFinished":
      return replied(session, event);
    case "ModelDelta":
      return grown(session, event);
    case "ModelWaiting":
      return { ...session, waiting: event.text };
    case "HistoryCompacted":
      return noted(session, "info", "The older part of the conversation was summarised.");
    case "RetryScheduled":
      return noted(session, "warning", `Retrying in ${round(event.delay)} s: ${event.reason}`);
    case "FallbackApplied":
      return noted(session, "warning", `${event.reason} ${event.change}`);
    case "Notice":
      return noted(session, levelOf(event.level), event.text);
    default:
      return callChanged(session, event);
  }
}

function ended(
  session: Session,
  { usage, cost, duration }: { usage: Usage; cost: number | null; duration: number },
  state: Ending,
  more: Partial<Session>,
): Session {
  return { ...session, state, usage, cost, duration, waiting: null, ...more };
}

/** A repeated request for the same reply replaces it: the first one failed. */
function asked(session: Session, event: EventOf<"ModelRequestStarted">): Session {
  if (event.purpose === "summary") return { ...session, summing: event.operation_id };
  const isOfTurn = (item: Item) =>
    (item.kind === "text" || item.kind === "reasoning") && item.turn === event.turn;
  if (!session.items.some(isOfTurn)) return { ...session, waiting: null };
  return { ...session, waiting: null, items: session.items.filter((each) => !isOfTurn(each)) };
}

/** The complete reply, which also restores deltas that were dropped. */
function replied(session: Session, event: EventOf<"ModelRequestFinished">): Session {
  if (session.summing === event.operation_id) return { ...session, summing: null };
  const reply = replyOf(event.output_text);
  if (!reply) return { ...session, waiting: null };
  let items = session.items;
  for (const kind of ["reasoning", "text"] as const) {
    items = withText(items, kind, event.turn, () => reply[kind]);
  }
  return { ...session, waiting: null, items };
}

function replyOf(output: string | null): { text: string; reasoning: string } | null {
  if (output === null) return null;
  try {
    const { text, reasoning } = JSON.parse(output) as { text?: unknown; reasoning?: unknown };
    return { text: textOf(text), reasoning: textOf(reasoning) };
  } catch {
    return null;
  }
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function grown(session: Session, event: EventOf<"ModelDelta">): Session {
  const kind = event.reasoning ? "reasoning" : "text";
  const items = withText(session.items, kind, event.turn, (text) => text + event.text);
  return { ...session, waiting: null, items };
}

/** The items with the text of a reply changed, or appended if it had no text yet. */
function withText(
  items: readonly Item[],
  kind: Said["kind"],
  turn: number,
  change: (text: string) => string,
): readonly Item[] {
  const place = items.findLastIndex((each) => each.kind === kind && each.turn === turn);
  const before = items[place];
  const text = change(before?.kind === kind ? before.text : "");
  if (before?.kind === kind) {
    return before.text === text ? items : items.with(place, { ...before, text });
  }
  return text ? [...items, { kind, turn, text }] : items;
}

function noted(session: Session, level: Note["level"], text: string): Session {
  return { ...session, items: [...session.items, { kind: "note", level, text }] };
}

function levelOf(level: string): Note["level"] {
  return level === "error" || level === "warning" ? level : "info";
}

function callChanged(session: Session, event: TurnEvent): Session {
  switch (event.type) {
    case "ToolCallRequested":
      return { ...session, waiting: null, items: [...session.items, requested(event)] };
    case "ToolProgress":
      return withCall(session, event.key, () => ({ progress: event.text }));
    case "ToolCallCompleted":
      return withCall(session, event.key, () => ({
        state: "done",
        summary: event.ui.summary,
        content: event.content,
        duration: event.duration,
      }));
    case "ToolCallFailed":
      return withCall(session, event.key, () => ({
        state: "failed",
        failure: event.error,
        duration: event.duration,
      }));
    case "ApprovalRequested":
      return withCall(session, event.key, (call) => ({
        approvals: [...call.approvals, { ...event, scope: null, words: null }],
      }));
    case "ApprovalResolved":
      return withCall(session, event.key, (call) => ({
        approvals: call.approvals.map((each) =>
          each.approval_id === event.approval_id
            ? { ...each, scope: event.scope, words: event.words }
            : each,
        ),
      }));
    case "UiRequested":
      return withPage(session, event);
    default:
      return session;
  }
}

function requested(event: EventOf<"ToolCallRequested">): Call {
  return {
    kind: "call",
    key: event.key,
    name: event.name,
    arguments: event.arguments,
    startedAt: Date.parse(event.at),
    state: "running",
    summary: null,
    content: null,
    failure: null,
    duration: null,
    progress: null,
    approvals: [],
    pages: [],
  };
}

function withCall(session: Session, key: CallKey, change: (call: Call) => Partial<Call>): Session {
  const items = session.items.map((item) =>
    item.kind === "call" && same(item.key, key) ? { ...item, ...change(item) } : item,
  );
  return { ...session, items };
}

/** A request to a page does not name its call: it belongs to the newest call of that name. */
function withPage(session: Session, event: EventOf<"UiRequested">): Session {
  const asking = session.items.findLast(
    (item) => item.kind === "call" && item.name === event.request.type,
  );
  if (asking?.kind !== "call") return session;
  return withCall(session, asking.key, (call) =>
    call.pages.includes(event.page) ? {} : { pages: [...call.pages, event.page] },
  );
}

function same(one: CallKey, other: CallKey): boolean {
  return one.turn === other.turn && one.slot === other.slot;
}

function round(seconds: number): string {
  return seconds < 10 ? String(Math.round(seconds * 10) / 10) : String(Math.round(seconds));
}
