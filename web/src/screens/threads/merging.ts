// What each run of a thread added to the conversation: requests repeat earlier messages.
import type { Message, Part } from "../../components/messages/message";

export interface Call {
  request: readonly Message[];
  reply: readonly Message[];
}

/**
 * The new messages of a call that continues the conversation `before`. They begin after the last
 * message of the conversation that the request repeats. A request that repeats no answer of a
 * model (and not the very last message either) starts a new conversation, except for instructions
 * that are already shown.
 */
export function addedBy(before: readonly Message[], { request, reply }: Call): Message[] {
  const texts = request.map(signature);
  for (let at = before.length - 1; at >= 0; at -= 1) {
    const message = before[at];
    if (!message) continue;
    const tells = at === before.length - 1 || isOfModel(message);
    const repeated = tells ? texts.lastIndexOf(signature(message)) : -1;
    if (repeated >= 0) return [...request.slice(repeated + 1), ...reply];
  }
  const known = new Set(before.filter(isInstruction).map(signature));
  const isNew = (message: Message, at: number) =>
    !isInstruction(message) || !known.has(texts[at] ?? "");
  return [...request.filter(isNew), ...reply];
}

/** Consecutive calls as one, in which each message occurs once. */
export function merged(calls: readonly Call[]): Call {
  return calls.reduce(
    (all, { request, reply }) => {
      const before = [...all.request, ...all.reply];
      return { request: [...before, ...addedBy(before, { request, reply: [] })], reply };
    },
    { request: [], reply: [] },
  );
}

/** What each of several calls or runs added, in order. */
export function addedByEach(calls: readonly Call[]): Message[][] {
  const before: Message[] = [];
  return calls.map((call) => {
    const added = addedBy(before, call);
    before.push(...added);
    return added;
  });
}

/** Whether a request repeats an earlier reply of a model: then it contains all earlier messages. */
export function repeatsAnswers(request: readonly Message[]): boolean {
  return request.some(isOfModel);
}

function isOfModel(message: Message): boolean {
  return message.role === "assistant" || message.role === "tool";
}

function isInstruction(message: Message): boolean {
  return message.role === "system" || message.role === "developer";
}

/** The identity of a message, in whatever form a client sent it back. */
function signature(message: Message): string {
  return JSON.stringify([message.role, ...message.parts.flatMap(partSignature)]);
}

function partSignature(part: Part): unknown[] {
  switch (part.kind) {
    case "reasoning": // seldom sent back
      return [];
    case "text":
    case "refusal":
      return part.text.trim() === "" ? [] : [part.text.trim()];
    case "call":
      return [[part.name, part.arguments]];
    case "attachment":
      return [[part.mediaType, part.bytes]];
    case "other":
      return [[part.type, part.value]];
  }
}
