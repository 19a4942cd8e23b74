// The messages of Treadle's own conversations, as `GET /api/v1/sessions/ID` gives them.
import type { CallPart, Message, Part } from "./message";
import { textMessage } from "./message";

/** One of `messages` of a conversation. */
export interface SessionMessage {
  number: number;
  role: "user" | "assistant" | "tool" | "note";
  text?: string | null;
  /** What was put in front of a person's words. */
  context?: string;
  steers?: boolean;
  calls?: readonly SessionCall[];
  turn?: number;
  slot?: number;
  ok?: boolean;
  content?: string;
}

interface SessionCall {
  turn: number;
  slot: number;
  name: string;
  arguments: string;
}

export function sessionMessage(given: SessionMessage): Message {
  if (given.role === "tool") {
    return {
      ...textMessage("tool", given.content ?? null),
      answers: keyOf(given.turn ?? 0, given.slot ?? 0),
      failed: given.ok === false,
    };
  }
  const parts: Part[] = [
    ...(given.context ? [{ kind: "context" as const, text: given.context }] : []),
    ...(given.text ? [{ kind: "text" as const, text: given.text }] : []),
    ...(given.calls ?? []).map(
      (call): CallPart => ({
        kind: "call",
        id: keyOf(call.turn, call.slot),
        isPlaced: true,
        name: call.name,
        arguments: call.arguments,
      }),
    ),
  ];
  const name = given.steers ? "said meanwhile" : null;
  return { role: given.role, name, parts, answers: null, failed: false };
}

const keyOf = (turn: number, slot: number): string => `${turn}.${slot}`;
