"""Asks the user at the terminal to approve tool calls and proposed changes."""

import asyncio
import contextlib
import sys
import threading
from collections.abc import Callable
from pathlib import PurePosixPath
from uuid import UUID

from treadle.app.local_audit import record
from treadle.cli.output import report, report_line
from treadle.display.diffs import coloured, hunk_text, side_by_side, unified_text
from treadle.display.editor import edit
from treadle.edits.model import ChangeKind, Proposal
from treadle.edits.service import Edits
from treadle.errors import TreadleError
from treadle.events.types import ApprovalRequested, ApprovalScope
from treadle.identity.records import Action
from treadle.tools.approvals.gate import Approvals
from treadle.visible import printable

_CHOICES = "Allow it? y: yes, once · s: for this session · a: always in this repository · n: no"
_PROPOSAL_CHOICES = (
    "Apply it? y: yes · h: hunk by hunk · e: edit first · v: side by side · s: yes, and allow "
    "these files for this session · n: no"
)
_HUNK = "Apply this hunk? y/n"
_WHY = "Why not? The model sees your reason; press Enter to give none"
_PREVIEW_LINES = 40
_PREVIEW_CHARACTERS = 2_000
_SHOWN_LINES = 200

_ANSWERS = {
    "y": ApprovalScope.ONCE,
    "yes": ApprovalScope.ONCE,
    "s": ApprovalScope.SESSION,
    "session": ApprovalScope.SESSION,
    "a": ApprovalScope.ALWAYS,
    "always": ApprovalScope.ALWAYS,
    "n": ApprovalScope.DENIED,
    "no": ApprovalScope.DENIED,
}

Answer = tuple[ApprovalScope, str | None]
"""The scope of the approval, and the user's comment."""


class LineReader:
    """Reads lines of standard input in a daemon thread, which does not block the exit on Ctrl-C."""

    def __init__(self) -> None:
        self._pending: asyncio.Future[str] | None = None

    async def next(self) -> str:
        """Return the next typed line without its line end. Raises EOFError at the input's end."""
        if self._pending is None or self._pending.done():
            self._pending = asyncio.get_running_loop().create_future()
            threading.Thread(target=_read, args=(self._pending,), daemon=True).start()
        line = await asyncio.shield(self._pending)
        if not line:
            raise EOFError
        return line.rstrip("\r\n")


def _read(line_read: "asyncio.Future[str]") -> None:
    try:
        line = sys.stdin.readline()
    except (OSError, ValueError):
        line = ""

    def set_line() -> None:
        if not line_read.done():
            line_read.set_result(line)

    with contextlib.suppress(RuntimeError):  # raised if the event loop has ended
        line_read.get_loop().call_soon_threadsafe(set_line)


class ApprovalPrompt:
    """Asks the user about each call that needs an approval, and passes on the answer."""

    def __init__(
        self,
        approvals: Approvals,
        edits: Edits | None,
        lines: LineReader,
        prompt: Callable[[str], None],
    ) -> None:
        self._approvals = approvals
        self._edits = ProposalPrompt(edits, lines, prompt) if edits is not None else None
        self._lines = lines
        self._prompt = prompt

    async def ask(self, question: ApprovalRequested) -> None:
        """Ask until the user answers, or until another program answers the question."""
        report_line(f"? {question.summary}")
        report_line(f"  {question.reason}")
        if question.preview and (self._edits is None or question.proposal_id is None):
            self._show(question.preview)
        answer = asyncio.ensure_future(self._answer(question))
        settled = asyncio.ensure_future(self._approvals.wait_until_settled(question.approval_id))
        await asyncio.wait({answer, settled}, return_when=asyncio.FIRST_COMPLETED)
        settled.cancel()
        if answer.done():
            scope, words = answer.result()
            if self._approvals.answer(question.approval_id, scope, words):
                subject = f"{scope.value}: {question.summary}"
                await asyncio.to_thread(record, Action.APPROVAL, subject)
        else:
            answer.cancel()
            report("")
        await asyncio.wait({answer, settled})

    async def _answer(self, question: ApprovalRequested) -> Answer:
        try:
            if self._edits is not None and question.proposal_id is not None:
                return await self._edits.ask(question.proposal_id)
            return await self._choice()
        except EOFError:
            return ApprovalScope.DENIED, None

    async def _choice(self) -> Answer:
        while True:
            self._prompt(_CHOICES)
            word, _, rest = (await self._lines.next()).strip().partition(" ")
            scope = _ANSWERS.get(word.lower())
            if scope is ApprovalScope.DENIED and not rest:
                self._prompt(_WHY)
                rest = await self._lines.next()
            if scope is not None:
                return scope, rest

    @staticmethod
    def _show(preview: str) -> None:
        shown = preview.removesuffix("\n").split("\n")
        more = len(shown) - _PREVIEW_LINES
        for line in shown[:_PREVIEW_LINES]:
            cut = len(line) - _PREVIEW_CHARACTERS
            rest = f" … {cut:,} more characters" if cut > 0 else ""
            report_line(f"  {line[:_PREVIEW_CHARACTERS]}{rest}")
        if more > 0:
            report(f"  … {more} more lines")


class ProposalPrompt:
    """Asks the user about proposals: as a whole, by hunks, or after editing them."""

    def __init__(self, edits: Edits, lines: LineReader, prompt: Callable[[str], None]) -> None:
        self._edits = edits
        self._lines = lines
        self._prompt = prompt
        self._colour = coloured(sys.stderr)

    async def ask(self, proposal_id: UUID) -> Answer:
        """Return the user's answer. Hunks that the user refuses are denied in the proposal.

        Raises EOFError at the end of the input.
        """
        proposal = await self._show(proposal_id, unified_text)
        while True:
            self._prompt(_PROPOSAL_CHOICES)
            word, _, rest = (await self._lines.next()).strip().partition(" ")
            match word.lower():
                case "y" | "yes":
                    return ApprovalScope.ONCE, rest
                case "s" | "session":
                    return ApprovalScope.SESSION, rest
                case "n" | "no":
                    return ApprovalScope.DENIED, rest or await self._reason()
                case "h" | "hunk" | "hunks":
                    return await self._by_hunks(proposal)
                case "e" | "edit":
                    await self._edit(proposal)
                    proposal = await self._show(proposal_id, unified_text)
                case "v" | "view":
                    await self._show(proposal_id, side_by_side)

    async def _show(self, proposal_id: UUID, render: Callable[..., str]) -> Proposal:
        proposal = await asyncio.to_thread(self._edits.get, proposal_id)
        for note in (*proposal.warnings, *proposal.notes):
            report_line(f"  ! {note}")
        lines = [
            line
            for change in proposal.changes
            for line in render(change, colour=self._colour).splitlines()
        ]
        for line in lines[:_SHOWN_LINES]:
            _print_diff_line(line)
        if len(lines) > _SHOWN_LINES:
            report(
                f"  … {len(lines) - _SHOWN_LINES} more lines; `treadle edits show {proposal_id}` "
                "shows all of them"
            )
        return proposal

    async def _reason(self) -> str:
        self._prompt(_WHY)
        return await self._lines.next()

    async def _by_hunks(self, proposal: Proposal) -> Answer:
        refused: set[tuple[int, int]] = set()
        every = proposal.parts()
        for number, (file, hunk) in enumerate(every, 1):
            change = proposal.changes[file]
            shown = (
                hunk_text(change, hunk, colour=self._colour)
                if change.kind is ChangeKind.MODIFY
                else unified_text(change, colour=self._colour)
            )
            report(f"  hunk {number} of {len(every)}")
            for line in shown.splitlines():
                _print_diff_line(line)
            if not await self._accepts_hunk():
                refused.add((file, hunk))
        if not refused:
            return ApprovalScope.ONCE, None
        words = await self._reason()
        if len(refused) == len(every):
            return ApprovalScope.DENIED, words
        try:
            await asyncio.to_thread(self._edits.deny, proposal.id, words=words, hunks=refused)
        except TreadleError as error:  # another program has already approved or denied it
            report_line(f"  ! {error}")
            return ApprovalScope.DENIED, words
        return ApprovalScope.ONCE, words

    async def _accepts_hunk(self) -> bool:
        while True:
            self._prompt(_HUNK)
            word = (await self._lines.next()).strip().lower()
            if word in {"y", "yes"}:
                return True
            if word in {"n", "no"}:
                return False

    async def _edit(self, proposal: Proposal) -> None:
        """Open each changed file in the user's editor, and put the edits into the proposal."""
        try:
            after = await asyncio.to_thread(self._edits.preview, proposal.id)
        except TreadleError as error:
            report_line(f"  ! {error}")
            return
        for change in proposal.changes:
            path = change.target or change.path
            data = after.get(path)
            if data is None:
                continue
            try:
                edited = await edit(data, suffix=PurePosixPath(path).suffix)
                if edited != data:
                    await asyncio.to_thread(self._edits.amend, proposal.id, change.path, edited)
            except (TreadleError, OSError) as error:
                report_line(f"  ! {error}")


def _print_diff_line(line: str) -> None:
    """Print a line of a diff. The line is already escaped and may contain colours."""
    print(f"  {line}", file=sys.stderr, flush=True)


def prompt(text: str) -> None:
    """Write a prompt to standard error, without a line end."""
    sys.stderr.write(f"  {printable(text)} > ")
    sys.stderr.flush()
