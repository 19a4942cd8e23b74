"""Limits a tool message, which is a JSON object, to a number of tokens."""

import asyncio
import json
from typing import Any

from treadle.tokens import estimate

EXCERPT = "excerpt"
"""The `type` of a result that shows only the beginning and the end of a larger result."""

_HINT = (
    "Only the beginning and the end of the result are shown. Request less per call to see the "
    "rest; do not repeat a call that changes something."
)
_SHORT_HINT = "Request less per call."

_HEAD_SHARE = 2 / 3
"""The fraction of an excerpt that shows the beginning of the result.

The beginning gets more space, since it shows what the result is. The end often contains an error or
a total.
"""

_CHARACTERS_PER_TOKEN = 8
"""The upper bound of the search for the length of an excerpt, in characters per token.

Typical text has at most 5 characters per token, so the right length is below this bound.
"""

_FAILURE_CHARACTERS = (1_000, 500, 250, 120, 60, 30, 10, 4)
"""Maximum lengths for the texts of a failure.

They are tried in this order until the failure fits.
"""


def is_within(content: str, limit: int) -> bool:
    """Whether `content` has at most `limit` estimated tokens. Short texts need no estimate."""
    return len(content) * 4 <= limit or estimate(content) <= limit


def fit_message(content: str, limit: int) -> str:
    """Return `content` if it takes at most `limit` tokens, or else a smaller JSON object.

    A failure keeps its keys, with shorter texts. Any other content becomes an excerpt: its size,
    its beginning and end as text, and a hint about how to get the rest. If `limit` is below about
    60, the excerpt has only the sizes. Below about 20, it has only `ok`.
    """
    if is_within(content, limit):
        return content
    failure = _failure(content)
    return _excerpt(content, limit) if failure is None else _short_failure(failure, limit)


async def fitted(content: str, limit: int | None) -> str:
    """Like `fit_message`, but does not block the event loop.

    If `limit` is None, nothing is shortened.
    """
    if limit is None or len(content) * 4 <= limit:  # a character has at most 4 tokens
        return content
    return await asyncio.to_thread(fit_message, content, limit)


def with_note(content: str, name: str, note: str, limit: int) -> str:
    """Return `content`, a JSON object, with a field `name` that contains `note`.

    The result takes at most `limit` tokens. Content that is not a JSON object becomes the field
    `result` of a JSON object.
    """
    addition = f"{json.dumps(name)}:{json.dumps(note, ensure_ascii=False)}"
    kept = fit_message(content, max(1, limit - estimate(addition) - 4))
    if not _is_object(kept):
        kept = _compact({"ok": True, "result": kept})
    return f"{kept.rstrip()[:-1]}{'' if kept.rstrip() == '{}' else ','}{addition}}}"


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _failure(content: str) -> dict[str, Any] | None:
    if not content.startswith('{"ok":false,'):
        return None
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _short_failure(failure: dict[str, Any], limit: int) -> str:
    texts = {key: value for key, value in failure.items() if isinstance(value, str)}
    essential = {"ok": False, "error": "", "kind": failure.get("kind"), "effect": ""}
    for names in (tuple(failure), tuple(essential)):
        for length in _FAILURE_CHARACTERS:
            short = {
                name: _middle_out(texts[name], length) if name in texts else failure[name]
                for name in names
                if name in failure
            }
            if is_within(text := _compact(short), limit):
                return text
    return _compact({"ok": False})


def _middle_out(text: str, length: int) -> str:
    """Remove the middle of a long text. Its beginning and its end are the most useful parts."""
    half = length // 2
    return text if len(text) <= 2 * half else f"{text[:half]}…{text[-half:]}"


def _excerpt(content: str, limit: int) -> str:
    sizes = {
        "ok": True,
        "type": EXCERPT,
        "v": 1,
        "characters": len(content),
        "tokens": estimate(content),
        "limit": limit,
    }

    def excerpt(characters: int) -> str:
        head = int(characters * _HEAD_SHARE)
        tail = content[len(content) - (characters - head) :]
        return _compact({**sizes, "head": content[:head], "tail": tail, "hint": _HINT})

    low, high = 0, min(len(content) - 1, limit * _CHARACTERS_PER_TOKEN)
    while high - low > max(1, low // 64):
        middle = (low + high) // 2
        if is_within(excerpt(middle), limit):
            low = middle
        else:
            high = middle
    while low and not is_within(excerpt(low), limit):
        low = low * 3 // 4
    smaller = (_compact({**sizes, "hint": _SHORT_HINT}), _compact(sizes), _compact({"ok": True}))
    candidates = (excerpt(low), *smaller) if low else smaller
    return next((text for text in candidates if is_within(text, limit)), candidates[-1])


def _compact(value: dict[str, Any]) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate cannot be sent
