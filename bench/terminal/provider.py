"""A provider in a process of its own. It prints its address. The prompt names the answer.

`lines N` answers N lines, at most 1,000 a second. `tokens N` answers 200 words a second for N
seconds. `silent` sends one word and nothing more.
"""

import asyncio
import re
import sys

from tests.fakes.provider import FakeProvider, RecordedRequest
from tests.fakes.replies import Pause, Script, Step, delta, sse, usage_chunk

RATE = 200
LINES_AT_ONCE = 5
LINE_RATE = 1_000
KINDS = re.compile(r"(lines|tokens|silent) ?(\d*)$")
WORDS = ("the", "parser", "reads", "each", "line", "and", "returns", "`tokens`", "in", "order")


def answer(request: RecordedRequest) -> Script:
    """The answer that the last message names."""
    content = request.messages[-1].get("content")
    found = KINDS.search(content if isinstance(content, str) else "")
    kind, number = (found[1], int(found[2] or 0)) if found else ("tokens", 1)
    steps: list[Step | dict[str, object]] = [delta(role="assistant", content="")]
    if kind == "silent":
        return sse(*steps, delta(content="Well"), Pause())
    if kind == "lines":
        for first in range(0, number, LINES_AT_ONCE):
            text = "".join(line(each) for each in range(first, first + LINES_AT_ONCE))
            steps += [delta(content=text), Pause(LINES_AT_ONCE / LINE_RATE)]
    else:
        for count in range(number * RATE):
            end = "\n\n" if count % 60 == 59 else " "
            steps += [delta(content=WORDS[count % len(WORDS)] + end), Pause(1 / RATE)]
    return sse(*steps, delta(finish_reason="stop"), usage_chunk())


def line(number: int) -> str:
    """A line of an answer: prose in paragraphs of five lines, every tenth of them code."""
    paragraph, within = divmod(number, 5)
    if paragraph % 10 == 9:
        fence = "```python\n" if within == 0 else ""
        end = "```\n\n" if within == 4 else ""
        return f"{fence}row_{number:06} = parse(source, limit={number})\n{end}"
    end = "\n\n" if within == 4 else "\n"
    return f"Line {number:06} of an answer with some `code` in it.{end}"


async def main() -> None:
    async with FakeProvider([answer] * 1_000, strict=False) as provider:
        sys.stdout.write(f"{provider.base_url}\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
