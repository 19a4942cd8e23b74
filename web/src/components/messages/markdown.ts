// Whether a text is written in Markdown.

const BLOCK = /^ {0,3}(#{1,6} |[-*+] \S|\d{1,3}[.)] \S|> |```|\|.*\|\s*$)/m;
const INLINE = /\*\*[^*\n]+\*\*|`[^`\n]+`|\[[^\]\n]+\]\([^)\s]+\)/;

export function isMarkdown(text: string): boolean {
  return BLOCK.test(text) || INLINE.test(text);
}
