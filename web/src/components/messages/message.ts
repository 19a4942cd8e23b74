// A recorded message on the page, whatever recorded it.

export interface Message {
  /** As recorded: usually system, developer, user, assistant or tool. */
  role: string;
  /** The name of the author within the role, if it is known. */
  name: string | null;
  /** In reading order; empty if the message had no content. */
  parts: readonly Part[];
  /** For a tool's result: the id of the call that it answers. */
  answers: string | null;
  /**
   * For a tool's result: whether the call failed, if that was recorded in addition to the content.
   */
  failed: boolean;
}

export interface CallPart {
  kind: "call";
  id: string | null;
  name: string;
  /** Exactly as the model wrote them; null if there were none. */
  arguments: string | null;
}

export interface AttachmentPart {
  kind: "attachment";
  name: string | null;
  mediaType: string | null;
  bytes: number | null;
  source: { at: "blob"; digest: string } | { at: "inline"; url: string } | Elsewhere;
}

/** It was sent as an address. The page never opens one by itself. */
interface Elsewhere {
  at: "elsewhere";
  address: string;
}

export type Part =
  | { kind: "text"; text: string }
  | { kind: "reasoning"; text: string }
  | { kind: "refusal"; text: string }
  | CallPart
  | AttachmentPart
  /** A part without a form of its own here. */
  | { kind: "other"; type: string; value: unknown };

export function textMessage(role: string, text: string | null): Message {
  const parts: Part[] = text === null ? [] : [{ kind: "text", text }];
  return { role, name: null, parts, answers: null, failed: false };
}
