"""Copies text with the system's clipboard program and with the terminal (OSC 52)."""

import asyncio
import os
import shutil
from collections.abc import Mapping, Sequence

_SECONDS = 3.0

_WAYLAND = (("wl-copy",),)
_X11 = (("xclip", "-selection", "clipboard"), ("xsel", "--clipboard", "--input"))
_OTHERS = (("pbcopy",), ("clip.exe",), ("termux-clipboard-set",))


def clipboard_programs(env: Mapping[str, str]) -> Sequence[Sequence[str]]:
    """Return the commands that may reach a clipboard, best first.

    Commands for Wayland are included only if `env` has WAYLAND_DISPLAY. Commands for X11 are
    included only if `env` has DISPLAY.
    """
    wayland = _WAYLAND if env.get("WAYLAND_DISPLAY") else ()
    return (*wayland, *(_X11 if env.get("DISPLAY") else ()), *_OTHERS)


async def copy_with_program(text: str, env: Mapping[str, str] | None = None) -> str | None:
    """Copy `text` with the first program that works.

    Returns the name of the program, or None if no program worked.
    """
    env = os.environ if env is None else env
    data = text.encode("utf-8", "replace")
    for command in clipboard_programs(env):
        path = shutil.which(command[0], path=env.get("PATH"))
        if path is not None and await _ran([path, *command[1:]], data):
            return command[0]
    return None


async def _ran(command: Sequence[str], data: bytes) -> bool:
    """Run a command with `data` as its input. Returns False if it fails or takes too long.

    Its output is discarded. A program such as xclip leaves a process in the background, which would
    keep a pipe for the output open.
    """
    devnull = asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, stdout=devnull, stderr=devnull
        )
    except OSError:
        return False
    try:
        async with asyncio.timeout(_SECONDS):
            await process.communicate(data)
    except TimeoutError:
        process.kill()
        await process.wait()
        return False
    return process.returncode == 0
