// Recorded text made safe to show: characters that are invisible or affect the text around them
// become symbols. The text itself is never changed: copies have the original.

/**
 * Controls except tab and line ends, unpaired surrogates, line separators, and what Unicode calls
 * default-ignorable: direction marks, fillers, tags that can carry hidden words. The joiners of
 * letters and the two emoji variations stay.
 */
const HIDDEN =
  /(?!\t|\n|\r|\u200C|\u200D|\uFE0E|\uFE0F)[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\uFFF9-\uFFFB]/gu;

/** Control characters as their pictures (ESC → ␛), direction marks as their code points. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    if (code === 0x7f) return "\u2421";
    return `‹U+${code.toString(16).toUpperCase().padStart(4, "0")}›`;
  });
}

const ESCAPE = /\\u\{([0-9a-f]{1,6})\}/g;

/** A sentence of the server with its quotes as recorded: the server escapes `<` and more. */
export function withQuotesAsRecorded(sentence: string): string {
  return sentence.replace(ESCAPE, (written, digits: string) => {
    const code = Number.parseInt(digits, 16);
    return code > 0x10ffff ? written : String.fromCodePoint(code);
  });
}

/** The beginning of a text, never half a character, and the number of characters left out. */
export function cut(text: string, most: number): { shown: string; left: number } {
  if (text.length <= most) return { shown: text, left: 0 };
  const last = text.charCodeAt(most - 1);
  const end = last >= 0xd800 && last <= 0xdbff ? most - 1 : most;
  return { shown: text.slice(0, end), left: text.length - end };
}
