"""read_file: returns lines of a file, byte for byte."""

import asyncio
import os
from pathlib import Path

from pydantic import Field

from treadle.charsets import Charset, is_utf8
from treadle.code.snippets import write_snippet
from treadle.events.types import ErrorKind, ToolView
from treadle.tokens import estimate
from treadle.toolbox.answers import DEFAULT_TOKENS, MaxTokens, most_that_fit
from treadle.toolbox.code.text import READABLE, Passage, decode, read_passage
from treadle.toolbox.code.workspace import Workspace
from treadle.tools.approvals.question import Subject
from treadle.tools.contract import Arguments, Result, Tool, ToolContext, ToolError

BYTES_PER_TOKEN = 8
"""The maximum number of bytes that are read for each token of the budget.

Code has about 4 bytes per token, so this many bytes usually fill the budget.
"""


class ReadFileArguments(Arguments):
    """The file, and the range of lines."""

    path: str = Field(
        min_length=1, description="File, relative to the repository root or absolute inside it."
    )
    start_line: int = Field(default=1, ge=1, description="First line, counting from 1.")
    end_line: int | None = Field(
        default=None, ge=1, description="Last line, inclusive. Default: the end of the file."
    )
    max_tokens: MaxTokens = DEFAULT_TOKENS


class ReadFileResult(Result):
    """Lines of a file.

    `more` states which lines are omitted and how to get them. `snippet` has the lines in the code
    snippet format (`treadle.code.snippets`). If the file is in a known encoding other than UTF-8,
    `snippet` is empty and `text` has the decoded lines. `content_hash` is the BLAKE2b-256 hash of
    the whole file in hexadecimal. The edit tools accept this hash as `expected_hash`.
    """

    type: str = "file"
    file: str
    lines: str
    total_lines: int
    total_bytes: int
    content_hash: str
    snippet: str
    text: str | None = None
    encoding: str | None = None
    more: str | None = None
    note: str | None = None


class ReadFile(Tool[ReadFileArguments, ReadFileResult]):
    """Reads lines of a text file inside the repository root."""

    name = "read_file"
    description = (
        "Read a file, or some of its lines, exactly as it is on disk. To find code by what it "
        "does, use request_code_context. The answer has the byte range shown, the size and hash "
        "of the file, and how to get the rest."
    )
    arguments = ReadFileArguments
    result = ReadFileResult

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def subjects(self, arguments: ReadFileArguments) -> tuple[Subject, ...]:
        return (Subject(path=arguments.path),)

    def is_portable(self, arguments: ReadFileArguments) -> bool:
        return not os.path.isabs(arguments.path)  # noqa: PTH117  (a text of a model)

    async def run(self, arguments: ReadFileArguments, context: ToolContext) -> ReadFileResult:
        return await asyncio.to_thread(self._read, arguments, context.private)

    def view(self, arguments: ReadFileArguments, result: ReadFileResult) -> ToolView:  # noqa: ARG002
        return ToolView(f"{result.file}: lines {result.lines} of {result.total_lines:,}")

    def _read(self, arguments: ReadFileArguments, private: frozenset[Path]) -> ReadFileResult:
        path = self._workspace.file(arguments.path, private)
        first, last = arguments.start_line, arguments.end_line
        if last is not None and last < first:
            raise ToolError(
                ErrorKind.VALIDATION,
                f"`end_line` {last} is before `start_line` {first}.",
                field="end_line",
                expected=f"a line number of at least {first}",
                received=str(last),
            )
        opened = self._workspace.opened(path)
        passage = read_passage(opened, first, last, arguments.max_tokens * BYTES_PER_TOKEN)
        self._refuse_unreadable(path, first, passage)
        charset = None
        if not is_utf8(passage.data) or b"\x1b$" in passage.data:
            charset = self._workspace.charset(path)
        ends = _line_ends(passage)
        built = {0: self._result(path, first, passage, 0, charset)}

        def tokens(end: int) -> int:
            built[end] = self._result(path, first, passage, end, charset)
            return estimate(self.content(built[end]))

        budget = arguments.max_tokens
        lines = most_that_fit(len(ends), lambda count: tokens(ends[count - 1]), budget)
        end = ends[lines - 1] if lines else 0
        if not lines and passage.data:  # no whole line fits, so a part of the first line is shown
            longest = ends[0] if ends else len(passage.data)
            end = most_that_fit(longest, lambda size: tokens(_at_character(passage, size)), budget)
            end = _at_character(passage, end)
        return built[end]

    def _refuse_unreadable(self, path: Path, first: int, passage: Passage) -> None:
        name = self._workspace.relative(path)
        if passage.encoding not in READABLE:
            raise ToolError(
                ErrorKind.UNAVAILABLE,
                f"{name} is {passage.encoding}, {passage.total_bytes:,} bytes, and cannot be shown "
                "as text.",
                field="path",
                hint="get_file_metadata returns its size and hash.",
            )
        if passage.start is None and first > 1:
            raise ToolError(
                ErrorKind.VALIDATION,
                f"{name} has only {passage.total_lines:,} lines.",
                field="start_line",
                expected=f"a line from 1 to {max(passage.total_lines, 1)}",
                received=str(first),
            )

    def _result(
        self, path: Path, first: int, passage: Passage, size: int, charset: Charset | None
    ) -> ReadFileResult:
        """Build the answer with the first `size` bytes of `passage`."""
        start = passage.start or 0
        data = passage.data[:size]
        text = decode(data)
        last = first + data.count(b"\n") - (data.endswith(b"\n") or not data)
        more = note = None
        if start + size < passage.end:
            if data.endswith(b"\n"):
                more = f"Call again with start_line {last + 1} for the lines after {last}."
            else:
                more = (
                    f"Line {last} is truncated; use a larger max_tokens, or grep for a part of it."
                )
        if charset is not None and charset.codec is not None:
            return self._decoded(path, first, passage, data, charset, more)
        if text.encode() != data:
            note = "Bytes that are not UTF-8 are shown as '?'; do not edit those lines."
        try:
            snippet = write_snippet(str(path), start, start + size, text)
        except ValueError as error:
            raise ToolError(ErrorKind.UNAVAILABLE, f"{path.name!r}: {error}.") from error
        return ReadFileResult(
            file=self._workspace.relative(path),
            lines=f"{first}-{last}" if data else "none",
            total_lines=passage.total_lines,
            total_bytes=passage.total_bytes,
            content_hash=passage.content_hash,
            snippet=snippet,
            more=more,
            note=note,
        )

    def _decoded(  # noqa: PLR0917
        self,
        path: Path,
        first: int,
        passage: Passage,
        data: bytes,
        charset: Charset,
        more: str | None,
    ) -> ReadFileResult:
        """Build the result for a file in an encoding other than UTF-8.

        The result has decoded text instead of exact bytes.
        """
        last = first + data.count(b"\n") - (data.endswith(b"\n") or not data)
        return ReadFileResult(
            file=self._workspace.relative(path),
            lines=f"{first}-{last}" if data else "none",
            total_lines=passage.total_lines,
            total_bytes=passage.total_bytes,
            content_hash=passage.content_hash,
            snippet="",
            text=data.decode(charset.codec or "utf-8", "backslashreplace"),
            encoding=charset.name,
            more=more,
            note=f"The file is {charset.name}. Edit it with `replace` or `lines`, which do "
            "not use byte offsets: new text is written in its encoding.",
        )


def _line_ends(passage: Passage) -> list[int]:
    """Return the position after each complete line of `passage.data`, in bytes."""
    ends: list[int] = []
    position = 0
    while newline := passage.data.find(b"\n", position) + 1:
        ends.append(newline)
        position = newline
    whole = (passage.start or 0) + len(passage.data) == passage.end
    if whole and position < len(passage.data):
        ends.append(len(passage.data))
    return ends


def _at_character(passage: Passage, size: int) -> int:
    """Reduce `size` so that the data is not cut inside a UTF-8 character."""
    data = passage.data
    for back in range(min(4, size)):
        if size - back == len(data) or data[size - back] & 0xC0 != 0x80:
            return size - back
    return size
