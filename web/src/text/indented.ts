// JSON with line breaks. Every value stays as written, so that a resent request differs only in
// white space.

const WORD = /[^\s"{}[\],:]+/y;
const DEEPEST = 32; // beyond it, indentation would outweigh the text

/**
 * `json`, which must be valid, with a line for each item: numbers, escapes and duplicate names
 * stay.
 */
export function indented(json: string): string {
  const pieces: string[] = [];
  let depth = 0;
  const line = () => pieces.push("\n", "  ".repeat(Math.min(depth, DEEPEST)));
  let at = afterSpace(json, 0);
  while (at < json.length) {
    const next = endOfToken(json, at);
    const token = json.slice(at, next);
    const after = afterSpace(json, next);
    if (token === "{" || token === "[") {
      pieces.push(token);
      depth += 1;
      if (!isClosing(json[after])) line();
    } else if (isClosing(token)) {
      depth -= 1;
      if (!isOpening(pieces.at(-1))) line();
      pieces.push(token);
    } else if (token === ",") {
      pieces.push(token);
      line();
    } else {
      pieces.push(token === ":" ? ": " : token);
    }
    at = after;
  }
  return pieces.join("");
}

const isOpening = (token: string | undefined) => token === "{" || token === "[";
const isClosing = (token: string | undefined) => token === "}" || token === "]";

function endOfToken(json: string, start: number): number {
  if (json[start] === '"') return endOfString(json, start);
  WORD.lastIndex = start;
  return WORD.test(json) ? WORD.lastIndex : start + 1;
}

function endOfString(json: string, start: number): number {
  let at = start + 1;
  while (at < json.length && json[at] !== '"') at += json[at] === "\\" ? 2 : 1;
  return at + 1;
}

function afterSpace(json: string, start: number): number {
  let at = start;
  while (at < json.length && " \t\n\r".includes(json[at] ?? "x")) at += 1;
  return at;
}
