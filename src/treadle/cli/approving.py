"""Asks a person at the terminal about a call that waits for approval."""

import asyncio
import sys
from collections.abc import Callable

from treadle.cli.approving_edits import Answer, EditAsker
from treadle.cli.lines import Lines
from treadle.cli.output import tell, tell_line
from treadle.edits.service import Edits
from treadle.events.types import ApprovalRequested, ApprovalScope
from treadle.tools.approvals.gate import Approvals
from treadle.visible import printable

_CHOICES = "Allow it? y: yes, once · s: for this session · a: always in this repository · n: no"
_WHY = "Why not? The model sees your reason; press Enter to give none"
_PREVIEW_LINES = 40
_PREVIEW_CHARACTERS = 2_000

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


class Asker:
    """Puts questions of `approvals` to a person, one after another, and hands in the answers."""

    def __init__(
        self, approvals: Approvals, edits: Edits | None, lines: Lines, prompt: Callable[[str], None]
    ) -> None:
        self._approvals = approvals
        self._edits = EditAsker(edits, lines, prompt) if edits is not None else None
        self._lines = lines
        self._prompt = prompt

    async def ask(self, question: ApprovalRequested) -> None:
        """Ask until there is an answer, or the question waits for none any more."""
        tell_line(f"? {question.summary}")
        tell_line(f"  {question.reason}")
        if question.preview and (self._edits is None or question.proposal_id is None):
            self._show(question.preview)
        asking = asyncio.ensure_future(self._answer(question))
        waiting = asyncio.ensure_future(self._approvals.settled(question.approval_id))
        await asyncio.wait({asking, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if asking.done():
            scope, words = asking.result()
            self._approvals.answer(question.approval_id, scope, words)
        else:
            asking.cancel()
            tell("")
        await asyncio.wait({asking, waiting})

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
            more_of_it = f" … {cut:,} more characters" if cut > 0 else ""
            tell_line(f"  {line[:_PREVIEW_CHARACTERS]}{more_of_it}")
        if more > 0:
            tell(f"  … {more} more lines")


def prompt(text: str) -> None:
    """Write a prompt to standard error and leave the cursor behind it."""
    sys.stderr.write(f"  {printable(text)} > ")
    sys.stderr.flush()
