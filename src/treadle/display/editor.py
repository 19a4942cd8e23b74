"""Opens texts in the editor that `VISUAL` or `EDITOR` names."""

import asyncio
import os
import shlex
import signal
import tempfile
from pathlib import Path

from treadle.errors import NotFoundError, TreadleError, UsageError
from treadle.visible import in_line

_VARIABLES = ("VISUAL", "EDITOR")
_DEFAULT = "vi"


def editor_command() -> str:
    """Return the command that starts the person's editor. It may include options."""
    return next(filter(None, map(os.environ.get, _VARIABLES)), _DEFAULT)


async def edit(data: bytes, *, suffix: str = "", line: int = 1) -> bytes:
    """Open `data` in the editor, and return the saved content.

    The cursor is at `line`, counted from 1. The name of the temporary file ends with `suffix`, from
    which an editor detects the language. Raises UsageError if the editor cannot be started, and
    TreadleError if the editor fails.
    """
    with tempfile.TemporaryDirectory(prefix="treadle-") as folder:
        file = Path(folder) / f"edit{suffix}"
        await asyncio.to_thread(file.write_bytes, data)
        await run_editor(*position_arguments(editor_command(), str(file), line))
        return await asyncio.to_thread(file.read_bytes)


async def run_editor(*arguments: str) -> None:
    """Start the editor with arguments, and wait until it ends. Raises the same errors as `edit`."""
    command = editor_command()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # the editor handles Ctrl-C
    try:
        process = await _start(command, arguments)
        status = await process.wait()
    finally:
        signal.signal(signal.SIGINT, before)
    if status != 0:
        raise TreadleError(
            f"The editor {command!r} exited with status {status}, so the text is unchanged."
        )


async def _start(command: str, arguments: tuple[str, ...]) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(*shlex.split(command), *arguments)
    except (OSError, ValueError) as error:  # not installed, or a quote is not closed
        raise UsageError(
            f"The editor {command!r} cannot be started ({error}).",
            hint="Set EDITOR to an installed editor.",
        ) from error


_PLUS_LINE = frozenset({
    "vi", "vim", "nvim", "view", "gvim", "ex", "vis", "nano", "pico", "emacs", "emacsclient", "jed",
    "joe", "jmacs", "jstar", "ne", "mg", "mcedit", "kak", "kate", "gedit", "mousepad", "micro",
})  # fmt: skip
_GOTO = frozenset({"code", "code-insiders", "codium", "vscodium", "cursor", "windsurf"})
_COLON = frozenset({"subl", "sublime_text", "zed", "zeditor", "hx", "helix", "lapce"})
_LINE_OPTION = frozenset({"idea", "pycharm", "webstorm", "goland", "rustrover", "clion", "charm"})


def position_arguments(command: str, path: str, line: int) -> tuple[str, ...]:
    """Return the arguments with which the editor `command` opens `path` at `line`, from 1.

    An unknown editor opens the file at its start.
    """
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    program = Path(words[0]).name.lower().removesuffix(".exe") if words else ""
    if program in _PLUS_LINE:
        return f"+{line}", path
    if program in _GOTO:
        return "-g", f"{path}:{line}"
    if program in _COLON:
        return (f"{path}:{line}",)
    if program in _LINE_OPTION:
        return "--line", str(line), path
    return (path,)


async def open_at(path: Path, line: int) -> None:
    """Open a file by its absolute path in the editor at a line, and wait until the editor ends.

    Raises NotFoundError if the file does not exist, and the same errors as `edit`.
    """
    if not await asyncio.to_thread(path.is_file):
        raise NotFoundError(f"{in_line(str(path))} is not a file on this machine.")
    await run_editor(*position_arguments(editor_command(), str(path), line))
