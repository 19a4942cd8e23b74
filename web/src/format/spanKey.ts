// A span in an address: the ids of its trace and of itself, since a span id alone may not be
// unique.

export interface SpanIds {
  trace_id: string;
  span_id: string;
}

export function spanKey({ trace_id, span_id }: SpanIds): string {
  return `${encodeURIComponent(trace_id)}/${encodeURIComponent(span_id)}`;
}

/** Null if the text is not such a key. */
export function idsIn(key: string): SpanIds | null {
  const [trace, span, ...others] = key.split("/");
  if (!trace || !span || others.length > 0) return null;
  try {
    return { trace_id: decodeURIComponent(trace), span_id: decodeURIComponent(span) };
  } catch {
    return null;
  }
}
