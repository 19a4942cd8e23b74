"""Asks a person at the terminal about a call that waits for approval."""

import asyncio
import contextlib
import sys
import threading
from collections.abc import Callable

from treadle.cli.output import printable, tell
from treadle.events.types import ApprovalRequested, ApprovalScope
from treadle.tools.approvals import Approvals

_CHOICES = "Allow it? y: yes, once · s: for this session · a: always here · n: no"
_WHY = "Why not? The model is told; press Enter to say nothing"
_PREVIEW_LINES = 40

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


class Lines:
    """Lines of standard input, read in a thread that no Ctrl-C has to wait for."""

    def __init__(self) -> None:
        self._reading: asyncio.Future[str] | None = None

    async def next(self) -> str:
        """The next line that is typed from now on, without its end; EOFError where none comes."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.get_running_loop().create_future()
            threading.Thread(target=_read, args=(self._reading,), daemon=True).start()
        line = await asyncio.shield(self._reading)
        if not line:
            raise EOFError
        return line.rstrip("\r\n")


class Asker:
    """Puts questions of `approvals` to a person, one after another, and hands in the answers."""

    def __init__(self, approvals: Approvals, lines: Lines, prompt: Callable[[str], None]) -> None:
        self._approvals = approvals
        self._lines = lines
        self._prompt = prompt

    async def ask(self, question: ApprovalRequested) -> None:
        """Ask until there is an answer, or the question waits for none any more."""
        tell(f"? {question.summary}\n  {question.reason}")
        if question.preview:
            shown = question.preview.splitlines()
            more = len(shown) - _PREVIEW_LINES
            tell("\n".join(f"  {line}" for line in shown[:_PREVIEW_LINES]))
            if more > 0:
                tell(f"  … {more} more lines")
        asking = asyncio.ensure_future(self._answer())
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

    async def _answer(self) -> tuple[ApprovalScope, str | None]:
        try:
            while True:
                self._prompt(_CHOICES)
                word, _, rest = (await self._lines.next()).strip().partition(" ")
                scope = _ANSWERS.get(word.lower())
                if scope is ApprovalScope.DENIED and not rest:
                    self._prompt(_WHY)
                    rest = await self._lines.next()
                if scope is not None:
                    return scope, rest
        except EOFError:
            return ApprovalScope.DENIED, None


def prompt(text: str) -> None:
    """Write a prompt to standard error and leave the cursor behind it."""
    sys.stderr.write(f"  {printable(text)} > ")
    sys.stderr.flush()


def _read(reading: "asyncio.Future[str]") -> None:
    try:
        line = sys.stdin.readline()
    except (OSError, ValueError):
        line = ""

    def hand_over() -> None:
        if not reading.done():
            reading.set_result(line)

    with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
        reading.get_loop().call_soon_threadsafe(hand_over)
