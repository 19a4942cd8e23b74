// Which result answers which call, by the provider's id, which need not be unique.
import type { CallPart, Message } from "./message";

/** The position of a call: its message, and the part within that. */
export interface CallPlace {
  message: number;
  part: number;
  call: CallPart;
}

export interface Links {
  /** The call that the message at an index answers. */
  callOf: ReadonlyMap<number, CallPlace>;
  /** The index of the message that answers a call, by `keyOf` of the call. */
  answerOf: ReadonlyMap<string, number>;
}

export const keyOf = (place: { message: number; part: number }): string =>
  `${place.message}.${place.part}`;

/** A result answers the nearest call above it that has its id and no answer. */
export function linked(messages: readonly Message[]): Links {
  const open = new Map<string, CallPlace[]>();
  const callOf = new Map<number, CallPlace>();
  const answerOf = new Map<string, number>();
  messages.forEach((message, at) => {
    message.parts.forEach((part, place) => {
      if (part.kind !== "call" || part.id === null) return;
      const same = open.get(part.id) ?? [];
      open.set(part.id, [...same, { message: at, part: place, call: part }]);
    });
    if (message.answers === null) return;
    const called = open.get(message.answers)?.pop();
    if (!called) return;
    callOf.set(at, called);
    answerOf.set(keyOf(called), at);
  });
  return { callOf, answerOf };
}
