// What each run of a thread added to the conversation: requests repeat earlier messages.
import type { Message, Part } from "../../components/messages/message";

export interface Call {
  request: readonly Message[];
  reply: readonly Message[];
}

/**
 * The new messages of a call that continues the conversation `before`.
 *
 * The call continues it if the request repeats an answer of a model, or the very last message. The
 * messages after that one are new. Of the messages up to it, only those that are part of the
 * conversation are left out. Otherwise all messages are new, except for known instructions.
 */
export function addedBy(before: readonly Message[], { request, reply }: Call): Message[] {
  const known = before.map(signature);
  const asked = request.map(signature);
  for (let at = before.length - 1; at >= 0; at -= 1) {
    if (at < before.length - 1 && !isOfModel(before[at])) continue;
    const found = repeatIn(before, known, request, asked, at);
    if (found < 0) continue;
    const unseen = unmatched(known.slice(0, at + 1), asked.slice(0, found + 1));
    return [
      ...unseen.flatMap((place) => request[place] ?? []),
      ...request.slice(found + 1),
      ...reply,
    ];
  }
  return [...unknownOf(request, before, isInstruction), ...reply];
}

/** Consecutive calls of one run as one, in which each message of a person occurs once. */
export function merged(calls: readonly Call[]): Call {
  return calls.reduce(
    (all, { request, reply }) => {
      const before = [...all.request, ...all.reply];
      const added = addedBy(before, { request, reply: [] });
      const isGiven = (message: Message) => !isOfModel(message);
      return { request: [...before, ...unknownOf(added, before, isGiven)], reply };
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

/**
 * The last position of the message `at` of the conversation in the request; -1 if the request does
 * not repeat it.
 *
 * Two runs can contain the same call with the same result. So the preceding message of a person
 * must be the same as well. Without the id of a call, an answer is only known again if a message of
 * a person follows it, since a run without history may repeat an answer by chance.
 */
function repeatIn(
  before: readonly Message[],
  known: readonly string[],
  request: readonly Message[],
  asked: readonly string[],
  at: number,
): number {
  const message = before[at];
  const isLast = at === before.length - 1;
  const lastOfPerson = request.findLastIndex(isOfPerson);
  const precedes = precedingPerson(before, known, at);
  for (let place = request.length - 1; place >= 0; place -= 1) {
    if (asked[place] !== known[at]) continue;
    if (!isLast && !hasId(message) && place > lastOfPerson) continue;
    const other = precedingPerson(request, asked, place);
    if (precedes === null || other === null || precedes === other) return place;
  }
  return -1;
}

function precedingPerson(
  messages: readonly Message[],
  signatures: readonly string[],
  at: number,
): string | null {
  for (let place = at - 1; place >= 0; place -= 1) {
    if (isOfPerson(messages[place])) return signatures[place] ?? null;
  }
  return null;
}

/** The positions in `asked` that are not in `known`, which has the same order. */
function unmatched(known: readonly string[], asked: readonly string[]): number[] {
  let end = known.length;
  const left: number[] = [];
  for (let place = asked.length - 1; place >= 0; place -= 1) {
    const found = end === 0 ? -1 : known.lastIndexOf(asked[place] ?? "", end - 1);
    if (found < 0) left.push(place);
    else end = found;
  }
  return left.reverse();
}

/** The messages without those that meet the condition and are part of `before`. */
function unknownOf(
  messages: readonly Message[],
  before: readonly Message[],
  condition: (message: Message) => boolean,
): Message[] {
  const known = new Set(before.filter(condition).map(signature));
  return messages.filter((message) => !condition(message) || !known.has(signature(message)));
}

function isOfModel(message: Message | undefined): boolean {
  return message?.role === "assistant" || message?.role === "tool";
}

function isInstruction(message: Message): boolean {
  return message.role === "system" || message.role === "developer";
}

function isOfPerson(message: Message | undefined): boolean {
  return message?.role === "user";
}

function hasId(message: Message | undefined): boolean {
  if (!message) return false;
  return Boolean(message.answers) || message.parts.some((part) => part.kind === "call" && part.id);
}

/** The identity of a message, in whatever form a client sent it back. */
function signature(message: Message): string {
  if (message.answers) return JSON.stringify([message.role, "answers", message.answers]);
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
      return part.id ? [["call", part.id]] : [[part.name, part.arguments]];
    case "attachment":
      return [[part.mediaType, part.bytes]];
    case "other":
      return [[part.type, part.value]];
  }
}
