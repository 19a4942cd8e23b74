"""request_code_context: returns the code that is relevant for a question, within a token budget."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from treadle.code import most_items
from treadle.code.context.budget import ContextBudget
from treadle.code.model import ContextEntry, ContextResult, IndexStatus
from treadle.events.types import ErrorKind, RetrievalFinished, SourceRange, ToolView
from treadle.secrets import redact
from treadle.tokens import estimate
from treadle.toolbox.code.workspace import Workspace, shown_path
from treadle.toolbox.wording import counted
from treadle.tools.contract import (
    Arguments,
    Result,
    TokenBudget,
    Tool,
    ToolContext,
    ToolError,
)

QUERY_CHARACTERS = 120
"""The maximum number of characters of the query that the result repeats.

The search uses the whole query.
"""


class CodeContextArguments(Arguments):
    """The question and the token budget."""

    token_budget: Annotated[int, TokenBudget()] = Field(
        ge=1, description="Maximum tokens of the answer; 2000 to 8000 is typical."
    )
    hint: str | None = Field(
        default=None,
        description="What to look for: a question, names, or what the code does. Default: "
        "the user's last message (only in Treadle sessions).",
    )


class CodeSnippet(BaseModel):
    """One item of code.

    `lines` is a range such as "12-40". `snippet` is in the code snippet format. The module
    `treadle.code.snippets` describes this format.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    canonical_path: str
    file: str
    lines: str
    snippet: str


class CodeContextResult(Result):
    """The most relevant items, best first.

    `omitted` is the number of items that were found but left out, because they did not fit or
    because a rule denies reading their files. `note` names the words of the query that occur
    nowhere, and the files that could not be read. If no item fits, `note` states a budget that
    suffices.
    """

    type: str = Field(default="code_context", exclude=True)
    v: int = Field(default=1, exclude=True)
    query: str
    top_k: int
    context: list[CodeSnippet]
    omitted: int
    note: str | None = None
    tokens: int = Field(default=0, exclude=True)


class RequestCodeContext(Tool[CodeContextArguments, CodeContextResult]):
    """Searches the index for the code that a question is about."""

    name = "request_code_context"
    description = (
        "Get the code of this repository that a question is about: exact snippets, best first, "
        "within token_budget. Call it before you read files: it finds code by name and by what it "
        "does. Items that do not fit are given as signatures; `omitted` counts those left out. "
        "Call again with another hint or a larger budget for more."
    )
    arguments = CodeContextArguments
    result = CodeContextResult

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def run(self, arguments: CodeContextArguments, context: ToolContext) -> CodeContextResult:
        query = (arguments.hint or "").strip() or context.last_user_message.strip()
        if not query:
            raise ToolError(
                ErrorKind.VALIDATION,
                (
                    "There is nothing to search for: the call has no hint, and there is no user "
                    "message."
                ),
                field="hint",
                expected="a question, names, or what the code does",
                received="nothing",
            )
        budget = arguments.token_budget
        started_us, started = context.clock.now_us(), context.clock.monotonic()
        answer = _Answer(self, query, top_k=most_items(budget), budget=budget)
        found, status = await asyncio.to_thread(self._retrieve, answer, context.open_to)
        result = answer.result(found)
        await context.publish(
            RetrievalFinished(
                request_id=context.request_id,
                parent_id=context.parent_id,
                key=context.key,
                query=query,
                top_k=answer.top_k,
                sources=tuple(
                    SourceRange(entry.file, entry.start_line, entry.end_line, entry.canonical_path)
                    for entry in found.entries
                ),
                omitted=found.omitted,
                tokens=result.tokens,
                budget=budget,
                index_files=status.files,
                index_items=status.items,
                started_us=started_us,
                duration=context.clock.monotonic() - started,
            )
        )
        return result

    def view(self, arguments: CodeContextArguments, result: CodeContextResult) -> ToolView:
        used = f"{result.tokens:,} of {arguments.token_budget:,} tokens"
        if not result.context:
            return ToolView(f"no snippet, {used}", details=result.note)
        snippets = counted(len(result.context), "snippet")
        files = counted(len({entry.file for entry in result.context}), "file")
        return ToolView(
            f"{snippets} of {files}, {used}",
            fields=tuple((entry.canonical_path, entry.lines) for entry in result.context),
        )

    def _retrieve(
        self, answer: "_Answer", open_to: Callable[[str], bool]
    ) -> tuple[ContextResult, IndexStatus]:
        index = self._workspace.index
        index.refresh()
        found = index.context(answer.query, top_k=answer.top_k, fits=answer.fits)
        return only_open(found, open_to), index.status()


def only_open(found: ContextResult, open_to: Callable[[str], bool]) -> ContextResult:
    """Return `found` without the entries of files that the approval rules deny.

    The removed entries count as omitted.
    """
    entries = tuple(entry for entry in found.entries if open_to(entry.file))
    closed = len(found.entries) - len(entries)
    return found._replace(entries=entries, omitted=found.omitted + closed) if closed else found


@dataclass(slots=True)
class _Answer:
    """Measures candidate answers for the index search, and creates the result."""

    tool: RequestCodeContext
    query: str
    top_k: int
    budget: int
    smallest: int | None = None
    """The size in tokens of the smallest answer that had one entry and exceeded the budget.

    It is None if no answer with one entry exceeded the budget.
    """
    room: ContextBudget | None = None
    """The token budget of the entries without the rest of the answer.

    It is None until an answer with several entries is measured.
    """
    shown: str = field(init=False)
    """The part of the query that the result repeats, with secrets redacted."""

    def __post_init__(self) -> None:
        query = redact(self.query)
        long = len(query) > QUERY_CHARACTERS
        self.shown = shown_path(f"{query[:QUERY_CHARACTERS]}…" if long else query)

    def fits(self, entries: Sequence[ContextEntry], omitted: int) -> bool:
        """Whether an answer with these entries fits into the token budget."""
        if len(entries) > 1:
            if self.room is None:
                frame = self._tokens(self._message((), omitted)) + 1
                self.room = ContextBudget(
                    self.budget - frame, lambda entry: _snippet(entry).model_dump_json()
                )
            return self.room.holds(entries)
        tokens = self._tokens(self._message(entries, omitted))
        if tokens > self.budget and entries:
            self.smallest = tokens if self.smallest is None else min(self.smallest, tokens)
        return tokens <= self.budget

    def result(self, found: ContextResult) -> CodeContextResult:
        """Create the result from the found entries, and set its size in tokens."""
        message = self._message(found.entries, found.omitted)
        if not found.entries and self.smallest is not None:
            enough = (self.smallest // 10 + 1) * 10
            note = f"No snippet fits; the smallest token_budget with a result is {enough}."
            message = message.model_copy(update={"note": note})
        elif found.notes:
            noted = message.model_copy(update={"note": " ".join(found.notes)})
            message = noted if self._tokens(noted) <= self.budget else message
        if self._tokens(message) > self.budget:
            message = message.model_copy(update={"query": ""})
        return message.model_copy(update={"tokens": self._tokens(message)})

    def _tokens(self, message: CodeContextResult) -> int:
        return estimate(self.tool.content(message))

    def _message(self, entries: Sequence[ContextEntry], omitted: int) -> CodeContextResult:
        return CodeContextResult(
            query=self.shown,
            top_k=self.top_k,
            context=[_snippet(entry) for entry in entries],
            omitted=omitted,
        )


def _snippet(entry: ContextEntry) -> CodeSnippet:
    return CodeSnippet(
        name=entry.name,
        canonical_path=entry.canonical_path,
        file=entry.file,
        lines=f"{entry.start_line}-{entry.end_line}",
        snippet=entry.snippet,
    )
