// The complete text of a shortened value, without its attachments. Markers that no recorded text
// can imitate replace them.
import { queryOptions } from "@tanstack/react-query";
import { accessHeaders } from "../../api/access";
import { asApiError } from "../../api/client";
import type { BlobPart, Cut } from "../../api/schema";

/** A text in which markers represent attachments. */
export interface MarkedText {
  text: string;
  attachments: ReadonlyMap<string, BlobPart>;
  /** Finds the markers; null if there are none. */
  marks: RegExp | null;
}

export function unmarked(text: string): MarkedText {
  return { text, attachments: new Map(), marks: null };
}

/** The size of the text of a shortened value in bytes, which loading it costs. */
export function textBytes(cut: Cut): number {
  const sizes = cut.parts.map((part) =>
    "text" in part ? part.text.length : part.base64 ? 0 : part.bytes,
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

export function wholeText(parts: Cut["parts"], texts: readonly (string | null)[]): MarkedText {
  const secret = crypto.randomUUID();
  const attachments = new Map<string, BlobPart>();
  const pieces = parts.map((part, place) => {
    if ("text" in part) return part.text;
    if (!part.base64) return texts[place] ?? "";
    const mark = `[attachment ${secret} ${place}]`;
    attachments.set(mark, part);
    return mark;
  });
  const marks = attachments.size > 0 ? new RegExp(`\\[attachment ${secret} \\d+\\]`, "g") : null;
  return { text: pieces.join(""), attachments, marks };
}

/** The complete text of a shortened value. The browser caches it: blobs never change. */
export function wholeValue(traceId: string, spanId: string, cut: Cut) {
  return queryOptions({
    queryKey: ["whole", traceId, spanId, ...cut.path, cut.characters],
    queryFn: async ({ signal }) => {
      const texts = await Promise.all(
        cut.parts.map((part) =>
          "text" in part || part.base64 ? null : blobText(part.blob, signal),
        ),
      );
      return wholeText(cut.parts, texts);
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export const blobAddress = (digest: string): string => `/api/v1/blobs/${digest}`;

async function blobText(digest: string, signal: AbortSignal): Promise<string> {
  return await (await readBlob(digest, signal)).text();
}

async function readBlob(digest: string, signal?: AbortSignal): Promise<Response> {
  const response = await fetch(blobAddress(digest), {
    headers: accessHeaders(),
    ...(signal ? { signal } : {}),
  });
  if (!response.ok) throw asApiError(response.status, await response.json().catch(() => null));
  return response;
}

/** The content of an address of this page, with a type that no browser executes. */
export async function loadedBlob(digest: string, type: string): Promise<string> {
  const bytes = await (await readBlob(digest)).arrayBuffer();
  return URL.createObjectURL(new Blob([bytes], { type }));
}
