"""Recognizes the path of an image in a pasted text.

If a person drops a file on a terminal, the terminal pastes the path of the file.
"""

import os
import shlex
from pathlib import Path
from urllib.parse import unquote, urlsplit

IMAGE_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_MAX_CHARACTERS = 4_000


def is_image(path: str) -> bool:
    """Whether a path has the ending of an image."""
    return path.lower().endswith(IMAGE_ENDINGS)


def pasted_image(text: str) -> str | None:
    """The absolute path of the image file that a pasted text names. None for any other text.

    The path may be quoted, escaped for a shell, or a `file:` address.
    """
    line = text.strip()
    if len(line) > _MAX_CHARACTERS or "\n" in line or not is_image(line.rstrip("'\"")):
        return None
    return next((found for name in _names(line) if (found := _file(name)) is not None), None)


def _names(line: str) -> list[str]:
    names = [line]
    if line.startswith("file:"):
        names.append(unquote(urlsplit(line).path))
    try:
        words = shlex.split(line)
    except ValueError:  # an unclosed quote
        words = []
    return names + words if len(words) == 1 else names


def _file(name: str) -> str | None:
    try:
        path = Path(name).expanduser()
        return os.fspath(path.absolute()) if path.is_file() else None
    except (OSError, ValueError, RuntimeError):  # too long, with a NUL, or an unknown user
        return None
