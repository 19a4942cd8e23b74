"""grep: finds the lines of the repository that match a pattern."""

import asyncio
import os
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from math import prod
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from treadle.code.files.walk import IgnoreRules, walk
from treadle.events.types import ErrorKind, ToolView
from treadle.inside import Folders, read_inside
from treadle.tokens import estimate
from treadle.toolbox.answers import DEFAULT_TOKENS, MaxTokens, most_that_fit
from treadle.toolbox.code.line_matcher import Hit, Matcher, first_lines
from treadle.toolbox.code.workspace import Workspace, shown_path
from treadle.toolbox.wording import counted
from treadle.tools.approvals.question import Subject
from treadle.tools.contract import Arguments, Result, Tool, ToolContext, ToolError

TIME_LIMIT = 20.0
"""Seconds after which a search stops and returns the matches found so far.

This limit is shorter than the default timeout of a tool call. A timeout would lose the matches.
"""

TOKENS_PER_HIT = 4
"""The minimum number of tokens that a matching line takes in a result.

A search keeps only as many matches as could fit into the result if each took this many tokens.
"""

GLOB_CHOICES = 1_000
"""The maximum number of patterns to which the braces of one glob expand."""


class GrepArguments(Arguments):
    """The pattern, and the files to search."""

    pattern: str = Field(
        min_length=1,
        description="Regular expression (RE2), matched line by line.",
    )
    literal: bool = Field(default=False, description="Match the pattern as plain text.")
    ignore_case: bool = Field(default=False, description="Ignore case.")
    path: str = Field(default=".", description="Folder or file to search.")
    glob: str | None = Field(
        default=None,
        min_length=1,
        description="Only files that match, such as `*.py` or `src/**/*.{ts,tsx}`.",
    )
    context_lines: int = Field(
        default=0, ge=0, le=10, description="Lines shown before and after a match."
    )
    max_tokens: MaxTokens = DEFAULT_TOKENS


class GrepFile(BaseModel):
    """Lines of one file.

    A match has the form "12: text", and a context line the form "13- text".
    """

    model_config = ConfigDict(frozen=True)

    file: str
    lines: list[str]


class GrepResult(Result):
    """The matching lines by file. The totals include matches that are not shown."""

    type: str = "grep"
    files: list[GrepFile]
    shown_matches: int
    total_matches: int
    total_files: int
    more: str | None = None
    note: str | None = None


@dataclass(slots=True)
class _Found:
    """The matches found so far.

    `hits` has only the first matches, and `total` counts all matches.
    """

    hits: list[tuple[str, Hit]] = field(default_factory=list)
    total: int = 0
    files: int = 0
    searched: int = 0
    stopped: bool = False


class Grep(Tool[GrepArguments, GrepResult]):
    """Searches the files inside the repository root, except ignored files."""

    name = "grep"
    description = (
        "Find every line that matches a regular expression or a plain text, in all files that are "
        "not ignored. Use it for exact strings, such as an error message or a name. The totals "
        "count all matches, shown or not."
    )
    arguments = GrepArguments
    result = GrepResult

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def subjects(self, arguments: GrepArguments) -> tuple[Subject, ...]:
        return (Subject(path=arguments.path),)

    def is_portable(self, arguments: GrepArguments) -> bool:
        return not os.path.isabs(arguments.path)  # noqa: PTH117  (a text of a model)

    async def run(self, arguments: GrepArguments, context: ToolContext) -> GrepResult:
        given_up = threading.Event()
        try:
            return await asyncio.to_thread(self._grep, arguments, context, given_up)
        finally:
            given_up.set()  # the thread of a cancelled call continues until this is set

    def view(self, arguments: GrepArguments, result: GrepResult) -> ToolView:
        matches = counted(result.total_matches, "match", "matches")
        files = counted(result.total_files, "file")
        return ToolView(
            f"{arguments.pattern!r}: {matches} in {files}, {result.shown_matches:,} shown"
        )

    def _grep(
        self, arguments: GrepArguments, context: ToolContext, given_up: threading.Event
    ) -> GrepResult:
        clock = context.clock
        until = clock.monotonic() + TIME_LIMIT
        matcher = Matcher(
            arguments.pattern, literal=arguments.literal, ignore_case=arguments.ignore_case
        )
        target = self._workspace.existing(arguments.path, context.private)
        found = self._search(
            matcher,
            self._files(target, arguments.glob, context),
            keep=arguments.max_tokens // TOKENS_PER_HIT + 1,
            stopped=lambda: given_up.is_set() or clock.monotonic() > until,
            consented=not target.is_dir(),
        )
        return self._fitted(arguments, found, self._note(target, found))

    def _files(self, target: Path, glob: str | None, context: ToolContext) -> Iterator[str]:
        """Yield the paths to search, relative to the root.

        A file that the call names is searched even if an ignore file excludes it.
        """
        if not target.is_dir():
            named = self._workspace.file(str(target), context.private)
            yield named.relative_to(self._workspace.root).as_posix()
            return
        below = target.relative_to(self._workspace.root).as_posix()
        prefix = "" if below == "." else f"{below}/"
        matches_glob = _glob_filter(glob) if glob else None
        for entry in walk(self._workspace.root):
            if not entry.path.startswith(prefix) or not context.open_to(entry.path):
                continue
            shown = shown_path(entry.path)
            if (
                matches_glob is None
                or matches_glob(shown)
                or matches_glob(shown.removeprefix(shown_path(prefix)))
            ):
                yield entry.path

    def _search(
        self,
        matcher: Matcher,
        paths: Iterator[str],
        keep: int,
        stopped: Callable[[], bool],
        *,
        consented: bool,
    ) -> _Found:
        found = _Found()
        with Folders(self._workspace.root) as folders:
            for path in paths:
                if stopped():
                    found.stopped = True
                    break
                before = found.total
                try:
                    with folders.read(path) as file:
                        for hit in matcher.lines(file, stopped, consented=consented):
                            found.total += 1
                            if len(found.hits) < keep:
                                found.hits.append((path, hit))
                except OSError:  # the file was deleted, became a link, or is not readable
                    continue
                found.files += found.total > before
                found.searched += 1
        found.stopped = found.stopped or stopped()
        return found

    def _note(self, target: Path, found: _Found) -> str | None:
        if found.stopped:
            return (
                f"Stopped after {TIME_LIMIT:.0f} seconds and {found.searched:,} files; the totals "
                "cover only those. Search a smaller folder."
            )
        inside = target.relative_to(self._workspace.root).as_posix()
        rules = IgnoreRules(self._workspace.root)
        if target.is_dir() and inside != "." and rules.ignored(inside, is_dir=True):
            return (
                f"{inside} is excluded by an ignore file; to search an ignored file, give its path."
            )
        return None

    def _fitted(self, arguments: GrepArguments, found: _Found, note: str | None) -> GrepResult:
        """Build the result with as many matches as fit into the token budget."""

        def built(count: int) -> GrepResult:
            more = None
            if count < found.total:
                more = (
                    f"{found.total - count:,} matches are not shown; narrow the pattern, path or "
                    "glob, or give a larger max_tokens."
                )
            return GrepResult(
                files=self._shown(found.hits[:count], arguments.context_lines),
                shown_matches=count,
                total_matches=found.total,
                total_files=found.files,
                more=more,
                note=note,
            )

        def tokens(count: int) -> int:
            return estimate(self.content(built(count)))

        return built(most_that_fit(len(found.hits), tokens, arguments.max_tokens))

    def _shown(self, hits: list[tuple[str, Hit]], around: int) -> list[GrepFile]:
        by_file: dict[str, dict[int, str]] = {}
        for path, hit in hits:
            by_file.setdefault(path, {})[hit.line] = hit.text
        return [
            GrepFile(file=shown_path(path), lines=self._lines(path, matching, around))
            for path, matching in by_file.items()
        ]

    def _lines(self, path: str, matching: dict[int, str], around: int) -> list[str]:
        shown = {line: f"{line}: {text}" for line, text in matching.items()}
        if around:
            near = {line + step for line in matching for step in range(-around, around + 1)}
            with read_inside(self._workspace.root, path) as file:
                for number, text in enumerate(first_lines(file, max(near)), start=1):
                    if number in near and number not in shown:
                        shown[number] = f"{number}- {text}"
        return [shown[line] for line in sorted(shown)]


_BRACES = re.compile(r"\{([^{}]*)\}")


def _glob_filter(glob: str) -> Callable[[str], bool]:
    """Return a function that tests paths against `glob`, an ignore pattern that may have braces."""
    from pathspec import GitIgnoreSpec

    parts = _BRACES.split(glob)  # literal text and the content of braces, alternately
    choices = [part.split(",") if turn % 2 else [part] for turn, part in enumerate(parts)]
    if prod(map(len, choices)) > GLOB_CHOICES:
        raise ToolError(
            ErrorKind.VALIDATION,
            f"The braces of the glob expand to more than {GLOB_CHOICES:,} patterns.",
            field="glob",
            expected="fewer alternatives",
            received=glob,
        )
    patterns = ["".join(choice) for choice in product(*choices)]
    return GitIgnoreSpec.from_lines(patterns).match_file
