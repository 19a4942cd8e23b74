// The code snippet format within a text: `<code="/path" #10:64>`, a line break, as many bytes as
// the range states, a line break, `</code>`. See docs/context.md.

export type Segment =
  | { kind: "text"; text: string }
  | { kind: "snippet"; path: string; start: number; end: number; code: string };

const OPENING = /<code="([^"\r\n]{1,4096})" #(\d{1,15}):(\d{1,15})>\n/g;
const CLOSING = "\n</code>";

/** A text as snippets and the text between them, in order. */
export function segments(text: string): Segment[] {
  const found: Segment[] = [];
  let from = 0;
  const opening = new RegExp(OPENING);
  for (let at = opening.exec(text); at !== null; at = opening.exec(text)) {
    const begins = at.index + at[0].length;
    const [start, end] = [Number(at[2]), Number(at[3])];
    const ends = endOf(text, begins, end - start);
    if (ends === null) continue;
    if (at.index > from) found.push({ kind: "text", text: text.slice(from, at.index) });
    found.push({ kind: "snippet", path: at[1] ?? "", start, end, code: text.slice(begins, ends) });
    from = ends + CLOSING.length;
    opening.lastIndex = from;
  }
  if (from < text.length) found.push({ kind: "text", text: text.slice(from) });
  return found;
}

/** The end of the content: after its bytes, or if these do not match, at the next closing tag. */
function endOf(text: string, begins: number, bytes: number): number | null {
  const counted = afterBytes(text, begins, bytes);
  if (counted !== null && text.startsWith(CLOSING, counted)) return counted;
  const next = text.indexOf(CLOSING, begins - 1);
  return next < 0 ? null : Math.max(next, begins);
}

/** The index in `text` that is `bytes` bytes of UTF-8 after `from`; null if there is none. */
function afterBytes(text: string, from: number, bytes: number): number | null {
  let left = bytes;
  let at = from;
  while (left > 0 && at < text.length) {
    const code = text.codePointAt(at) ?? 0;
    left -= code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    at += code < 0x10000 ? 1 : 2;
  }
  return left === 0 ? at : null;
}
