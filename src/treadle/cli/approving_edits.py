"""Asks a person at the terminal about a proposed change: as a whole, by hunks, or edited first."""

import asyncio
import os
import shlex
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from uuid import UUID

from treadle.cli.diffs import coloured, hunk_text, side_by_side, unified_text
from treadle.cli.lines import Lines
from treadle.cli.output import tell, tell_line
from treadle.edits.model import ChangeKind, Proposal
from treadle.edits.service import Edits
from treadle.errors import TreadleError
from treadle.events.types import ApprovalScope

_CHOICES = (
    "Apply it? y: yes · h: hunk by hunk · e: edit first · v: side by side · s: yes, and allow "
    "these files for this session · n: no"
)
_HUNK = "Apply this hunk? y/n"
_WHY = "Why not? The model sees your reason; press Enter to give none"
_SHOWN_LINES = 200
_EDITORS = ("VISUAL", "EDITOR")

Answer = tuple[ApprovalScope, str | None]


class EditAsker:
    """Puts proposals of `edits` to a person."""

    def __init__(self, edits: Edits, lines: Lines, prompt: Callable[[str], None]) -> None:
        self._edits = edits
        self._lines = lines
        self._prompt = prompt
        self._colour = coloured(sys.stderr)

    async def ask(self, proposal_id: UUID) -> Answer:
        """The person's answer; hunks that they refused are denied in the proposal by then.

        Raises EOFError when nobody is there any more.
        """
        proposal = await self._show(proposal_id, unified_text)
        while True:
            self._prompt(_CHOICES)
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
                    await self._edited(proposal)
                    proposal = await self._show(proposal_id, unified_text)
                case "v" | "view":
                    await self._show(proposal_id, side_by_side)

    async def _show(self, proposal_id: UUID, how: Callable[..., str]) -> Proposal:
        proposal = await asyncio.to_thread(self._edits.get, proposal_id)
        for note in (*proposal.warnings, *proposal.notes):
            tell_line(f"  ! {note}")
        lines = [
            line
            for change in proposal.changes
            for line in how(change, colour=self._colour).splitlines()
        ]
        for line in lines[:_SHOWN_LINES]:
            _put(line)
        if len(lines) > _SHOWN_LINES:
            tell(
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
            tell(f"  hunk {number} of {len(every)}")
            for line in shown.splitlines():
                _put(line)
            if not await self._is_wanted():
                refused.add((file, hunk))
        if not refused:
            return ApprovalScope.ONCE, None
        words = await self._reason()
        if len(refused) == len(every):
            return ApprovalScope.DENIED, words
        try:
            await asyncio.to_thread(self._edits.deny, proposal.id, words=words, hunks=refused)
        except TreadleError as error:  # it was decided elsewhere meanwhile
            tell_line(f"  ! {error}")
            return ApprovalScope.DENIED, words
        return ApprovalScope.ONCE, words

    async def _is_wanted(self) -> bool:
        while True:
            self._prompt(_HUNK)
            word = (await self._lines.next()).strip().lower()
            if word in {"y", "yes"}:
                return True
            if word in {"n", "no"}:
                return False

    async def _edited(self, proposal: Proposal) -> None:
        """Let the person change what would come out, file by file, in their editor."""
        try:
            after = await asyncio.to_thread(self._edits.preview, proposal.id)
        except TreadleError as error:
            tell_line(f"  ! {error}")
            return
        for change in proposal.changes:
            path = change.target or change.path
            data = after.get(path)
            if data is None:
                continue
            try:
                written = await _in_editor(path, data)
                if written != data:
                    await asyncio.to_thread(self._edits.amend, proposal.id, change.path, written)
            except (TreadleError, OSError) as error:
                tell_line(f"  ! {error}")


async def _in_editor(path: str, data: bytes) -> bytes:
    """`data` as the person's editor leaves it. Raises OSError when there is no editor."""
    command = next(filter(None, map(os.environ.get, _EDITORS)), "vi")
    suffix = "".join(PurePosixPath(path).suffixes[-1:])
    with tempfile.TemporaryDirectory(prefix="treadle-") as folder:
        file = Path(folder) / f"edit{suffix}"
        await asyncio.to_thread(file.write_bytes, data)
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the editor's now
        try:
            process = await _started(command, file)
            status = await process.wait()
        finally:
            signal.signal(signal.SIGINT, before)
        if status != 0:
            raise OSError(
                f"The editor {command!r} exited with status {status}; the proposal is unchanged."
            )
        return await asyncio.to_thread(file.read_bytes)


async def _started(command: str, file: Path) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(*shlex.split(command), str(file))
    except (OSError, ValueError) as error:  # not installed; a quote that stays open
        raise OSError(
            f"The editor {command!r} cannot be started ({error}). Set EDITOR to an installed "
            "editor."
        ) from error


def _put(line: str) -> None:
    """Print a line of a diff, which is safe already and may hold colours."""
    print(f"  {line}", file=sys.stderr, flush=True)
