// What a recorded message is on the page, whatever it was recorded by.

export interface Message {
  /** As it was recorded: usually system, developer, user, assistant or tool. */
  role: string;
  /** Whose words they are within the role, where that was told. */
  name: string | null;
  /** In the order in which they are read; none: the message had no content. */
  parts: readonly Part[];
  /** Of a tool's result: the id of the call that it answers. */
  answers: string | null;
  /** Of a tool's result: that the call failed, where that was told beside the content. */
  failed: boolean;
}

export interface CallPart {
  kind: "call";
  id: string | null;
  name: string;
  /** Letter by letter as the model wrote them; null where there were none. */
  arguments: string | null;
}

export interface AttachmentPart {
  kind: "attachment";
  name: string | null;
  mediaType: string | null;
  bytes: number | null;
  source: { at: "blob"; digest: string } | { at: "inline"; url: string } | Elsewhere;
}

/** It was sent as an address: the page never opens one by itself. */
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
  /** What has no form of its own here. */
  | { kind: "other"; type: string; value: unknown };

export function textMessage(role: string, text: string | null): Message {
  const parts: Part[] = text === null ? [] : [{ kind: "text", text }];
  return { role, name: null, parts, answers: null, failed: false };
}
