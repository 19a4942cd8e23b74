// What a person types at the caret of a query: the name of a field, or a value.

export interface Writing {
  /** Whether it is a name, or a value of `field`. */
  what: "name" | "value";
  /** In lower case, but a key of the metadata is as typed. */
  field: string;
  /** The text so far, without quotation marks. */
  begun: string;
  /** The range that a suggestion replaces. */
  start: number;
  end: number;
  /** The complete term around it. */
  termStart: number;
  termEnd: number;
}

const HEAD =
  /^(-?)(metadata\.(?:"(?:[^"\\]|\\.)+"|[^\s",:=<>]+)|[A-Za-z_]+)(:(?:>=|<=|>|<)|:|>=|<=|>|<|=)/;

/** What is typed at the caret. */
export function writingAt(text: string, caret: number): Writing {
  const { start: termStart, end: termEnd } = termAround(text, caret);
  const term = text.slice(termStart, termEnd);
  const head = HEAD.exec(term);
  const values = termStart + (head?.[0].length ?? 0);
  if (!head || caret < values) {
    const sign = term.startsWith("-") ? 1 : 0;
    const start = Math.min(termStart + sign, caret);
    const begun = text.slice(start, caret);
    return { what: "name", field: "", begun, start, end: termEnd, termStart, termEnd };
  }
  const { start, end } = valueAround(text, values, termEnd, caret);
  const begun = text.slice(start, caret).replaceAll('"', "");
  const name = head[2] ?? "";
  const field = name.includes(".") ? name : name.toLowerCase();
  return { what: "value", field, begun, start, end, termStart, termEnd };
}

function termAround(text: string, caret: number): { start: number; end: number } {
  let start = 0;
  let end = text.length;
  eachOutsideQuotes(text, 0, (place, character) => {
    if (!/\s/.test(character)) return;
    if (place < caret) start = place + 1;
    else end = Math.min(end, place);
  });
  return { start, end };
}

function valueAround(text: string, from: number, to: number, caret: number) {
  let start = from;
  let end = to;
  eachOutsideQuotes(text.slice(0, to), from, (place, character) => {
    if (character !== ",") return;
    if (place < caret) start = place + 1;
    else end = Math.min(end, place);
  });
  return { start, end };
}

function eachOutsideQuotes(
  text: string,
  from: number,
  see: (place: number, character: string) => void,
): void {
  let quoted = false;
  for (let place = from; place < text.length; place += 1) {
    const character = text.charAt(place);
    if (quoted && character === "\\") place += 1;
    else if (character === '"') quoted = !quoted;
    else if (!quoted) see(place, character);
  }
}

/** The text with a suggestion in place of the current word, and the new caret. */
export function completed(
  text: string,
  writing: Writing,
  choice: string,
): { text: string; caret: number } {
  const before = text.slice(0, writing.start) + choice;
  const behind = text.slice(writing.end);
  // After a complete value comes the next term; after a name comes its value.
  const gap = writing.what === "value" && behind === "" ? " " : "";
  return { text: before + gap + behind, caret: (before + gap).length };
}
