// Divides growing Markdown into blocks, so that only the last one is parsed again with each delta.

/** The blocks of a text, divided at blank lines that end a block. Joined, they are the text. */
export function blocksOf(text: string): string[] {
  const blocks: string[] = [];
  let block = "";
  let fence: string | null = null;
  let afterBlank = false;
  for (const line of text.split(/(?<=\n)/u)) {
    const mark = /^ {0,3}(`{3,}|~{3,})/u.exec(line)?.[1];
    // Indented text belongs to the block before it, and so do the further items of a list.
    const goesOn = /^(?:\s|[-*+]\s|\d+[.)]\s)/u.test(line);
    if (afterBlank && fence === null && !goesOn && block) {
      blocks.push(block);
      block = "";
    }
    if (mark) {
      if (fence === null) fence = mark;
      else if (line.trim().startsWith(fence)) fence = null;
    }
    block += line;
    afterBlank = line.trim() === "";
  }
  return block ? [...blocks, block] : blocks;
}
