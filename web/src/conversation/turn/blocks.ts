// Cuts Markdown that grows into blocks, so that only the last one is read anew with each piece.

/** The blocks of a text, which together are the text: cut at blank lines that end a block. */
export function blocksOf(text: string): string[] {
  const blocks: string[] = [];
  let block = "";
  let fence: string | null = null;
  let afterBlank = false;
  for (const line of text.split(/(?<=\n)/u)) {
    const mark = /^ {0,3}(`{3,}|~{3,})/u.exec(line)?.[1];
    // What is set in belongs to the block before it, as do the further points of a list.
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
