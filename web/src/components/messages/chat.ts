// Messages in the form of OpenAI's chat requests, which spans of all vocabularies, the gateway and
// experiments use. Unknown forms are kept and shown unchanged.
import type { BlobPart } from "../../api/schema";
import { type MarkedText, unmarked } from "./blobs";
import type { AttachmentPart, CallPart, Message, Part } from "./message";
import { textMessage } from "./message";

type Values = Record<string, unknown>;
type Marks = Pick<MarkedText, "attachments" | "marks">;

const NO_MARKS: Marks = unmarked("");

/** The messages in a recorded text: JSON, otherwise one message of `role`. */
export function messagesInText(marked: MarkedText, role: string): Message[] {
  const value = parsed(marked.text);
  if (value === undefined || !isMessages(value)) {
    return [{ ...textMessage(role, null), parts: textParts(marked.text, marked) }];
  }
  return messagesOf(value, role, marked);
}

/** Messages that are already values, such as those of a request. */
export function messagesOf(value: unknown, role = "user", marks: Marks = NO_MARKS): Message[] {
  const list = Array.isArray(value) ? value : [value];
  return list.map((each) => messageOf(each, role, marks));
}

function isMessages(value: unknown): boolean {
  if (isObject(value) && isOwnReply(value)) return true;
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((each) => isObject(each) && "role" in each)
  );
}

/** A reply as Treadle's own sessions record it: `{"text", "reasoning"?, "tool_calls"?}`. */
function isOwnReply(value: Values): boolean {
  return "text" in value && !("role" in value) && !("type" in value);
}

function messageOf(value: unknown, role: string, marks: Marks): Message {
  if (!isObject(value)) {
    const parts = typeof value === "string" ? textParts(value, marks) : [other("message", value)];
    return { ...textMessage(role, null), parts };
  }
  const thought = textOf(value.reasoning_content) ?? textOf(value.reasoning);
  const parts: Part[] = [
    ...(thought ? [{ kind: "reasoning" as const, text: thought }] : []),
    ...contentParts(isOwnReply(value) ? value.text : value.content, marks),
    ...(typeof value.refusal === "string"
      ? [{ kind: "refusal" as const, text: value.refusal }]
      : []),
    ...callsOf(value),
    ...(value.item === undefined ? [] : [other(typeOf(value.item), value.item)]),
  ];
  return {
    role: textOf(value.role) ?? role,
    name: textOf(value.name),
    parts,
    answers: textOf(value.tool_call_id),
    failed: false,
  };
}

function contentParts(content: unknown, marks: Marks): Part[] {
  if (content === null || content === undefined) return [];
  if (typeof content === "string") return textParts(content, marks);
  if (!Array.isArray(content)) return [other("content", content)];
  return content.flatMap((part) => partsOf(part, marks));
}

function partsOf(part: unknown, marks: Marks): Part[] {
  if (typeof part === "string") return textParts(part, marks);
  if (!isObject(part)) return [other("part", part)];
  const type = typeOf(part);
  if (typeof part.text === "string" && /^(text|input_text|output_text)$/.test(type)) {
    return textParts(part.text, marks);
  }
  if (type === "refusal" && typeof part.refusal === "string") {
    return [{ kind: "refusal", text: part.refusal }];
  }
  if (/^(reasoning|thinking)$/.test(type)) {
    const thought = textOf(part.text) ?? textOf(part.thinking) ?? textOf(part.content);
    if (thought !== null) return [{ kind: "reasoning", text: thought }];
  }
  const attachment = attachmentOf(part, type, marks);
  return [attachment ?? other(type, part)];
}

function callsOf(message: Values): CallPart[] {
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls : [];
  const old = isObject(message.function_call) ? [{ function: message.function_call }] : [];
  return [...calls, ...old].filter(isObject).map((call) => {
    const called = isObject(call.function)
      ? call.function
      : isObject(call.custom)
        ? call.custom
        : call;
    const given = called.arguments ?? called.input;
    return {
      kind: "call",
      id: textOf(call.id),
      name: textOf(called.name) ?? "(no name)",
      arguments:
        given === undefined || given === null
          ? null
          : typeof given === "string"
            ? given
            : JSON.stringify(given),
    };
  });
}

/** A text with its attachments as separate parts. */
function textParts(text: string, { marks, attachments }: Marks): Part[] {
  if (marks === null) return [{ kind: "text", text }];
  const parts: Part[] = [];
  let from = 0;
  for (const found of text.matchAll(marks)) {
    const blob = attachments.get(found[0]);
    if (!blob) continue;
    const before = text.slice(from, found.index).replace(/data:[\w.+/-]+;base64,$/, "");
    if (before) parts.push({ kind: "text", text: before });
    parts.push(ofBlob(blob, null));
    from = found.index + found[0].length;
  }
  const rest = text.slice(from);
  if (rest || parts.length === 0) parts.push({ kind: "text", text: rest });
  return parts;
}

function attachmentOf(part: Values, type: string, marks: Marks): AttachmentPart | null {
  const inner = [part[type], part.source, part.file, part].find(isObject) ?? part;
  const name = textOf(inner.filename) ?? textOf(inner.name);
  const given = [
    part.image_url,
    inner.url,
    inner.data,
    inner.file_data,
    inner.uri,
    inner.image,
  ].find((each): each is string => typeof each === "string");
  if (given === undefined) return null;
  const told = textOf(inner.media_type) ?? textOf(inner.mime_type) ?? soundType(inner.format);
  const mark = marks.marks ? given.match(marks.marks)?.[0] : undefined;
  const blob = mark === undefined ? undefined : marks.attachments.get(mark);
  if (blob) return ofBlob(blob, name, told ?? dataType(given));
  if (given.startsWith("data:")) return inline(given, name, dataType(given));
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(given)) {
    const source = { at: "elsewhere" as const, address: given };
    return { kind: "attachment", name, mediaType: told, bytes: null, source };
  }
  if (!/^[A-Za-z0-9+/_-]+=*$/.test(given)) return null;
  const media = told ?? "application/octet-stream";
  return inline(`data:${media};base64,${given}`, name, media);
}

function ofBlob(blob: BlobPart, name: string | null, told: string | null = null): AttachmentPart {
  return {
    kind: "attachment",
    name,
    mediaType: blob.media_type ?? told,
    bytes: blob.bytes,
    source: { at: "blob", digest: blob.blob },
  };
}

function inline(url: string, name: string | null, mediaType: string | null): AttachmentPart {
  const written = url.slice(url.indexOf(",") + 1).replace(/=+$/, "");
  const bytes = url.includes(";base64,") ? Math.floor((written.length * 3) / 4) : written.length;
  return { kind: "attachment", name, mediaType, bytes, source: { at: "inline", url } };
}

function dataType(url: string): string | null {
  return url.match(/^data:([\w.+-]+\/[\w.+-]+)/)?.[1] ?? null;
}

function soundType(format: unknown): string | null {
  return typeof format === "string" && /^\w{1,10}$/.test(format) ? `audio/${format}` : null;
}

function other(type: string, value: unknown): Part {
  return { kind: "other", type, value };
}

function typeOf(value: unknown): string {
  return isObject(value) && typeof value.type === "string" ? value.type : "part";
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

export function isObject(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value of JSON; undefined if the text is not JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
