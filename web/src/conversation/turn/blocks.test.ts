import { describe, expect, it } from "vitest";
import { blocksOf } from "./blocks";

const TEXT = `# Title

One paragraph,
on two lines.

1. first

   still first
2. second

\`\`\`python
a = 1

b = 2
\`\`\`

| a | b |
|---|---|
| 1 | 2 |

The end`;

describe("the blocks of Markdown that grows", () => {
  it("are the text, and end where nothing later belongs to them", () => {
    const blocks = blocksOf(TEXT);
    expect(blocks.join("")).toBe(TEXT);
    expect(blocks.map((block) => block.split("\n")[0])).toEqual([
      "# Title",
      "One paragraph,",
      "```python",
      "| a | b |",
      "The end",
    ]);
  });

  it("stay as they are but for the last one, wherever the text is cut", () => {
    const whole = blocksOf(TEXT);
    for (let end = 0; end <= TEXT.length; end += 1) {
      const sofar = blocksOf(TEXT.slice(0, end));
      const settled = sofar.slice(0, -1);
      // An incomplete fence or list may still be divided at its last line.
      expect(whole.join("").startsWith(settled.join(""))).toBe(true);
      expect(sofar.join("")).toBe(TEXT.slice(0, end));
    }
  });
});
