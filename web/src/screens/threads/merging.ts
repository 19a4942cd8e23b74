// What each run of a thread added to the conversation: requests repeat what was said before.
import type { Message, Part } from "../../components/messages/message";

export interface Call {
  request: readonly Message[];
  reply: readonly Message[];
}

/**
 * The messages of a call that go on from the conversation `before`. Where they begin is told by the
 * last message of the conversation that the request repeats; one that repeats no answer of a model
 * (and not the very last message either) begins anew, but for instructions that stand above already.
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

/** Calls one after the other as one, in which each message stands once. */
export function merged(calls: readonly Call[]): Call {
  return calls.reduce(
    (all, { request, reply }) => {
      const before = [...all.request, ...all.reply];
      return { request: [...before, ...addedBy(before, { request, reply: [] })], reply };
    },
    { request: [], reply: [] },
  );
}

/** What each of several calls or runs added, in their order. */
export function addedByEach(calls: readonly Call[]): Message[][] {
  const before: Message[] = [];
  return calls.map((call) => {
    const added = addedBy(before, call);
    before.push(...added);
    return added;
  });
}

/** Whether a request repeats what a model said before: then it holds all that came before it. */
export function repeatsAnswers(request: readonly Message[]): boolean {
  return request.some(isOfModel);
}

function isOfModel(message: Message): boolean {
  return message.role === "assistant" || message.role === "tool";
}

function isInstruction(message: Message): boolean {
  return message.role === "system" || message.role === "developer";
}

/** What makes two messages the same, in whatever form a client sent them back. */
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
