// Recorded text made safe to look at: what would be invisible or would act on the text around it
// is shown as a sign. The text itself is never changed: copies are of the original.

/**
 * Controls but for tab and line ends, halves of pairs, line separators, and what Unicode says may be
 * ignored: marks of direction, fillers, tags that can carry hidden words. The joiners of letters and
 * the two variations of emoji stay.
 */
const HIDDEN =
  /(?!\t|\n|\r|\u200C|\u200D|\uFE0E|\uFE0F)[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\uFFF9-\uFFFB]/gu;

/** Control characters as their pictures (ESC → ␛), marks of direction as their code points. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    if (code === 0x7f) return "\u2421";
    return `‹U+${code.toString(16).toUpperCase().padStart(4, "0")}›`;
  });
}

const ESCAPE = /\\u\{([0-9a-f]{1,6})\}/g;

/** A sentence of the server with the quotes in it as they were recorded: it escapes `<` and more. */
export function withQuotesAsRecorded(sentence: string): string {
  return sentence.replace(ESCAPE, (written, digits: string) => {
    const code = Number.parseInt(digits, 16);
    return code > 0x10ffff ? written : String.fromCodePoint(code);
  });
}

/** The beginning of a text, never half a character, and how many characters are left out. */
export function cut(text: string, most: number): { shown: string; left: number } {
  if (text.length <= most) return { shown: text, left: 0 };
  const last = text.charCodeAt(most - 1);
  const end = last >= 0xd800 && last <= 0xdbff ? most - 1 : most;
  return { shown: text.slice(0, end), left: text.length - end };
}
