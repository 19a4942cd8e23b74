// One-line descriptions of the steps of a turn.
import { pageId } from "../../mirror/pageId";
import type { Call, Session, Turn } from "./turn";

const AGENT_CALL = /^call_(.+)$/u;

/** The title of a call: the name of the agent, or of the tool. */
export function callTitle(call: Call): string {
  const agent = AGENT_CALL.exec(call.name)?.[1];
  return agent ? `${agent} agent` : call.name;
}

export function isAgentCall(call: Call): boolean {
  return AGENT_CALL.test(call.name);
}

/** Short arguments: the task of an agent, otherwise the JSON without its braces. */
export function argumentsInShort(call: Call): string {
  const value = parsed(call.arguments);
  if (isAgentCall(call) && isRecord(value) && typeof value.task === "string") {
    return value.task;
  }
  if (!isRecord(value)) return call.arguments;
  return Object.entries(value)
    .map(([name, each]) => `${name}: ${typeof each === "string" ? each : JSON.stringify(each)}`)
    .join(", ");
}

/** The JSON of a text; the text itself if it is not JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The page on which a call acted; null if it asked none. */
export function actedOn(call: Call): "this page" | "another page" | null {
  if (call.pages.length === 0) return null;
  return call.pages.includes(pageId()) ? "this page" : "another page";
}

/** Tokens and cost of all agents of a turn; null if one of them is unknown. */
export function spentIn(turn: Turn) {
  const sessions = Object.values(turn.sessions);
  return {
    input: sum(sessions, (each) => each.usage?.input),
    output: sum(sessions, (each) => each.usage?.output),
    cost: sum(sessions, (each) => each.cost),
  };
}

function sum(
  sessions: readonly Session[],
  of: (session: Session) => number | null | undefined,
): number | null {
  const values = sessions.map(of);
  return values.length > 0 && values.every((each) => each != null)
    ? values.reduce((all: number, each) => all + (each ?? 0), 0)
    : null;
}

const STOPPED: Record<string, string> = {
  length: "The answer reached the length limit of the provider.",
  content_filter: "The content filter of the provider cut the answer.",
  turn_limit: "The turn reached its limit of replies.",
  tool_call_limit: "The turn reached its limit of tool calls.",
  token_limit: "The turn reached its token limit.",
  cost_limit: "The turn reached its cost limit.",
  time_limit: "The turn reached its time limit.",
  repeated_calls: "The turn ended because the model repeated the same call.",
  unknown_tools: "The turn ended because the model called tools that do not exist.",
  invalid_calls: "The turn ended because the model repeated invalid calls.",
};

/** Why a turn ended early; null if it completed. */
export function stoppedBecause(reason: string | null): string | null {
  return reason === null ? null : (STOPPED[reason] ?? null);
}
