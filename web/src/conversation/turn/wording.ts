// How the steps of a turn are told in a line.
import { pageId } from "../../mirror/pageId";
import type { Call, Session, Turn } from "./turn";

const AGENT_CALL = /^call_(.+)$/u;

/** What a call is called: another agent by its name, a tool by its own. */
export function callTitle(call: Call): string {
  const agent = AGENT_CALL.exec(call.name)?.[1];
  return agent ? `${agent} agent` : call.name;
}

export function isAgentCall(call: Call): boolean {
  return AGENT_CALL.test(call.name);
}

/** The arguments in short: the task of an agent, else the JSON without its braces. */
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

/** The JSON of a text; the text itself where it is none. */
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

/** On which page a call acted; null where it asked none. */
export function actedOn(call: Call): "this page" | "another page" | null {
  if (call.pages.length === 0) return null;
  return call.pages.includes(pageId()) ? "this page" : "another page";
}

/** Tokens and cost of all agents of a turn; null where one of them is unknown. */
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
  length: "The answer was cut at the length limit of the provider.",
  content_filter: "The answer was cut by the content filter of the provider.",
  turn_limit: "It ended at the limit of replies.",
  tool_call_limit: "It ended at the limit of tool calls.",
  token_limit: "It ended at the limit of tokens.",
  cost_limit: "It ended at the limit of cost.",
  time_limit: "It ended at the limit of time.",
  repeated_calls: "It ended because the same call was made again and again.",
  unknown_tools: "It ended because tools were called that do not exist.",
  invalid_calls: "It ended because tools were called wrongly again and again.",
};

/** Why a turn ended that did not end by itself; null for one that did. */
export function stoppedBecause(reason: string | null): string | null {
  return reason === null ? null : (STOPPED[reason] ?? null);
}
