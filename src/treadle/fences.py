r"""Fences that mark foreign text in prompts.

::

    <recorded-5f0c9a1e62d4 source="context of this message">
    …text of files, tools or other programs, byte for byte…
    </recorded-5f0c9a1e62d4>

The name of a fence is a keyed digest of the text. Only this process knows the key. The author of
the text cannot guess the name, so the text cannot contain the end of its own fence. An author who
sees the name cannot use it later either, since a changed text has another name. The same text keeps
its name while the process runs, so a provider's cache of earlier messages stays valid.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from secrets import token_bytes

_SOURCE_CHARACTERS = 300

_FENCED = re.compile(
    r'<recorded-([0-9a-f]{12}) source=("(?:[^"\\\n]|\\.)*")>\n.*?\n</recorded-\1>', re.DOTALL
)


@cache
def _key() -> bytes:
    """Return the key of this process.

    It is created on first use, so a process that was forked earlier has a different key.
    """
    return token_bytes(32)


def fence_name(text: str) -> str:
    """Return the name of the fence around `text`: twelve hexadecimal digits."""
    content = text.encode("utf-8", "surrogatepass")
    return blake2b(content, digest_size=6, key=_key()).hexdigest()


def verbatim(text: str, source: str) -> str:
    """Return `text` in a fence, with every character of `text` unchanged.

    `source` states the origin of the text. It is written by Treadle, not by the text's author.
    """
    head = json.dumps(source[:_SOURCE_CHARACTERS])
    name = fence_name(f"{head}\n{text}")
    return f"<recorded-{name} source={head}>\n{text}\n</recorded-{name}>"


def fenced_parts(text: str) -> Iterator[tuple[str | None, str]]:
    """The parts of a text that `verbatim` fenced, and the texts between them, in order.

    Each result is a source and a part. A fenced part includes its fence. The source of unfenced
    text is None. The function cannot verify that a fence is genuine if another process wrote it.
    Therefore use the function only to show recorded text.
    """
    position = 0
    for found in _FENCED.finditer(text):
        if before := text[position : found.start()].strip():
            yield None, before
        yield json.loads(found[2]), found[0]
        position = found.end()
    if rest := text[position:].strip():
        yield None, rest
