"""Weighs a shell command: the parts that need approval, and why.

A part is a simple command or a file that a redirection writes. Rules and earlier answers apply to
each part alone. Nothing here decides; `tools/approvals` does.
"""

import glob
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from treadle.commands.programs import DESTRUCTIVE, SHELLS, Knowledge, knowledge_of
from treadle.commands.syntax import NotUnderstoodError, SimpleCommand, Word, parse
from treadle.errors import PathRefusedError
from treadle.paths import resolve_inside
from treadle.private_files import why_private
from treadle.protected_files import why_protected
from treadle.tools.approvals.question import Program, ShellCommand, Subject
from treadle.visible import in_line

_MAX_MATCHES = 2_000
"""The maximum number of files that a pattern may match."""

_MAX_NESTED = 5
_MAX_SUFFIXES = 12

_HARMLESS = frozenset({"true", "false", ":", "exit", "wait", "pwd"})
_SET = re.compile(r"[-+](?:[euxvfC]+|[eu]*o)")

_VALUE_OF_OPTION = re.compile(r"--?[\w-]+=(.*)|-[A-Za-z]([./~].*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a command.

    `text` is what a person reads. `words` are the words of a simple command. `spellings` are other
    forms of these words, to which rules that refuse or ask apply too. If `always_asks` is a reason,
    no rule and no earlier answer allows the part. An `allow` rule has to name at least `least`
    words. `leading` has the words that a stored answer covers, and is empty if no answer is stored.
    `written` is the path of a file that a redirection writes, relative to the root.
    """

    text: str
    words: tuple[str, ...] = ()
    spellings: tuple[tuple[str, ...], ...] = ()
    always_asks: str | None = None
    least: int = 1
    leading: tuple[str, ...] = ()
    written: str | None = None

    def subject(self, program: Program | None = None) -> Subject:
        """Return the subject to which approval rules apply.

        `program` is the program that the part starts, if it is known.
        """
        why = self.always_asks and f"{in_line(self.text)}: {self.always_asks}"
        if self.written is not None:
            return Subject(path=self.written, command=self.text, protected=why)
        shell = ShellCommand(self.words, self.spellings, self.least, self.leading)
        return Subject(command=self.text, program=program, protected=why, shell=shell)


@dataclass(frozen=True, slots=True)
class Weighed:
    """The parts of a command, and the text that the shell gets.

    If `understood`, the shell gets the text that the parser wrote, and it starts no other programs
    than those of the parts.
    """

    parts: tuple[Part, ...]
    rendered: str
    understood: bool


def weigh(text: str, root: Path, folder: Path) -> Weighed:
    """Weigh a command that starts in `folder`, a folder of the repository at `root`.

    `root` must have no links. Raises ValueError for an empty command. The function reads the file
    system, so it blocks.
    """
    try:
        script = parse(text)
    except NotUnderstoodError as error:
        return Weighed((_not_understood(text, error),), text, understood=False)
    weighing = _Weighing(root, [folder])
    for command in script.commands:
        weighing.add(command)
    parts = weighing.parts or [Part(script.rendered, script.commands[0].texts)]
    return Weighed(tuple(parts), script.rendered, understood=True)


def _not_understood(text: str, error: NotUnderstoodError) -> Part:
    spellings = tuple(
        dict.fromkeys(each for words in error.mentioned for each in _spellings(words, 0))
    )
    reason = (
        f"`{in_line(_shortened(error.part))}` {error.reason}, so Treadle does not know what runs"
    )
    return Part(text.strip(), spellings=spellings, always_asks=reason)


def _spellings(words: tuple[str, ...], depth: int) -> Iterator[tuple[str, ...]]:
    """Yield the words of a command in every form that a rule may name, and of inner commands."""
    if not words or depth > _MAX_NESTED:
        return
    plain = (words[0].rpartition("/")[2], *words[1:])
    yield words
    if plain != words:
        yield plain
    if not plain[0]:
        return
    known = knowledge_of(plain)
    yield from known.spellings
    yield from _spellings(known.inner, depth + 1)
    if known.inner and known.always_asks:  # the inner program may begin at any word
        for at in range(2, min(len(plain), _MAX_SUFFIXES)):
            yield plain[at:]
    if plain[0] in SHELLS or plain[0] == "eval":
        for each in plain[1:]:
            yield from _spellings_in(each, depth + 1)


def _spellings_in(text: str, depth: int) -> Iterator[tuple[str, ...]]:
    """Yield the spellings of the commands in `text`, which may be a script."""
    try:
        found = [command.texts for command in parse(text).commands]
    except NotUnderstoodError as error:
        found = list(error.mentioned)
    except ValueError:
        return
    for words in found:
        yield from _spellings(words, depth)


@dataclass(slots=True)
class _Weighing:
    root: Path
    folders: list[Path]
    """The folders in which the next command may run. A `cd` may fail, so its folder is added."""
    parts: list[Part] = field(default_factory=list)

    def add(self, command: SimpleCommand) -> None:
        for redirection in command.redirections:
            for folder in self.folders:
                self._add_file(redirection.target.text, folder, writes=redirection.writes)
        if command.assignments:
            names = ", ".join(each.partition("=")[0] for each in command.assignments)
            reason = f"it sets {names}, which can decide what a program loads"
            self._add_command(command, command.texts, reason)
            return
        if self._is_harmless(command):
            return
        self._add_command(command, command.texts, None)

    def _is_harmless(self, command: SimpleCommand) -> bool:
        """Whether a command of the shell itself changes nothing. `cd` adds a folder."""
        name, *arguments = command.texts
        if name in _HARMLESS:
            return True
        if name == "set":
            return bool(arguments) and all(
                _SET.fullmatch(each) or each == "pipefail" for each in arguments
            )
        if name != "cd" or len(arguments) != 1 or command.words[1].is_pattern:
            return False
        if arguments[0].startswith("-"):
            return False
        found = [_inside(self.root, folder, arguments[0]) for folder in self.folders]
        if any(each is None for each in found):
            return False
        self.folders += [each for each in found if each is not None and each not in self.folders]
        return len(self.folders) <= _MAX_MATCHES

    def _add_command(
        self, command: SimpleCommand, words: tuple[str, ...], reason: str | None
    ) -> None:
        known = knowledge_of(words) if words[0] else Knowledge("it names no program")
        if known.is_wrapper and reason is None and len(self.parts) < _MAX_MATCHES:
            inner = command.words[len(words) - len(known.inner) :]
            self._add_command(SimpleCommand(inner), known.inner, None)
            return
        spellings = tuple(dict.fromkeys(_spellings(words, 0)))[1:]
        if "/" in words[0] and len(self.folders) > 1:
            reason = reason or "its path depends on a folder that the command changes"
        why = reason or known.always_asks or self._why_arguments(words[0], command.words[1:])
        self.parts.append(
            Part(
                str(replace(command, redirections=())),
                words,
                spellings,
                why,
                known.least,
                () if why else known.leading,
            )
        )

    def _why_arguments(self, program: str, words: tuple[Word, ...]) -> str | None:
        """Return why the files that a command names need a question, or None."""
        changes = program.rpartition("/")[2] in DESTRUCTIVE
        for word in words:
            for folder in self.folders:
                if reason := self._why_word(word, folder, changes=changes):
                    return reason
        return None

    def _why_word(self, word: Word, folder: Path, *, changes: bool) -> str | None:
        if not word.is_pattern:
            return self._why_path(word.text, folder, changes=changes)
        if _leaves(word.text):
            return f"{word.text} may match files outside the repository"
        matches = list(
            islice(
                glob.iglob(word.text, root_dir=folder, include_hidden=True),  # noqa: PTH207  (as in bash)
                _MAX_MATCHES + 1,
            )
        )
        if len(matches) > _MAX_MATCHES:
            return f"{word.text} matches more than {_MAX_MATCHES:,} files"
        if option := next((each for each in matches if each.startswith("-")), None):
            return f"{word.text} matches {option}, which is read as an option"
        for match in matches:
            if reason := self._why_path(match, folder, changes=changes):
                return reason
        return None

    def _why_path(self, text: str, folder: Path, *, changes: bool) -> str | None:
        for name in _paths_in(text):
            inside = _inside(self.root, folder, name)
            if inside is None:
                return f"{name} is outside the repository"
            relative = inside.relative_to(self.root).as_posix()
            if private := why_private(relative, is_folder=inside.is_dir()):
                return f"{name} needs consent: {private}"
            if changes and (protected := why_protected(relative)):
                return f"it changes {name}, and {protected}"
        return None

    def _add_file(self, name: str, folder: Path, *, writes: bool) -> None:
        """Add a part for a file that a redirection writes, or that needs consent."""
        verb = "writes" if writes else "reads"
        text = f"{'>' if writes else '<'} {shlex.quote(name)}"
        inside = _inside(self.root, folder, name)
        if inside is None:
            self.parts.append(Part(text, always_asks=f"it {verb} {name}, outside the repository"))
            return
        relative = inside.relative_to(self.root).as_posix()
        if writes:
            self.parts.append(Part(text, written=os.path.relpath(folder / name, self.root)))
        elif private := why_private(relative):
            self.parts.append(Part(text, always_asks=f"{name} needs consent: {private}"))


def _paths_in(text: str) -> Iterator[str]:
    """Yield the paths that an argument may contain: itself, a value of an option, or after `@`."""
    if text.startswith("-"):
        found = _VALUE_OF_OPTION.fullmatch(text)
        if found is None:
            return
        text = found[1] or found[2] or ""
    yield from (each for each in (text, text.removeprefix("@")) if each)
    _, separator, value = text.partition("=")
    if separator and value:
        yield value


def _leaves(pattern: str) -> bool:
    return pattern.startswith("/") or ".." in pattern.split("/")


def _inside(root: Path, folder: Path, name: str) -> Path | None:
    """Return the resolved path if it is inside the root, else None."""
    try:
        return resolve_inside(root, str(folder / name))
    except PathRefusedError:
        return None
    except OSError:
        return None


def _shortened(text: str, limit: int = 60) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else f"{text[:limit]}…"
