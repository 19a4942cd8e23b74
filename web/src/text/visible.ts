// Recorded text made safe to look at: what would be invisible or would act on the text around it
// is shown as a sign. The text itself is never changed: copies are of the original.

/** Controls but for tab and line ends, marks of direction, what has no width, halves of pairs. */
const HIDDEN = /(?![\t\n\r])[\p{Cc}\p{Cs}\u200B\u200E\u200F\u202A-\u202E\u2060-\u2069\uFEFF]/gu;

/** Control characters as their pictures (ESC → ␛), marks of direction as their code points. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (character) => {
    const code = character.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    if (code === 0x7f) return "\u2421";
    return `‹U+${code.toString(16).toUpperCase().padStart(4, "0")}›`;
  });
}

/** The beginning of a text, never half a character, and how many characters are left out. */
export function cut(text: string, most: number): { shown: string; left: number } {
  if (text.length <= most) return { shown: text, left: 0 };
  const last = text.charCodeAt(most - 1);
  const end = last >= 0xd800 && last <= 0xdbff ? most - 1 : most;
  return { shown: text.slice(0, end), left: text.length - end };
}
