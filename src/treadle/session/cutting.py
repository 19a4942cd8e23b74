"""Cutting a long text to a number of tokens: its head, its tail, and a notice between them."""

from treadle.tokens import estimate

_HEAD_SHARE = 2 / 3
"""The beginning of a result says what it is; the end often holds the error or the sum."""

_CHARACTERS_PER_TOKEN = 8
"""More than ordinary text has (facts: at most 5), so that the search begins above its aim."""


def cut_to_tokens(text: str, limit: int) -> str:
    """`text` if it is estimated at `limit` tokens or less, else head, notice and tail within it.

    Cuts between code points. Below some 40 tokens not even the notice fits; then the result is
    the notice alone.
    """
    if estimate(text) <= limit:
        return text
    low, high = 0, min(len(text) - 1, limit * _CHARACTERS_PER_TOKEN)
    while high - low > max(1, low // 64):
        middle = (low + high) // 2
        if estimate(_cut(text, middle, limit)) <= limit:
            low = middle
        else:
            high = middle
    return _cut(text, low, limit)


def _cut(text: str, kept: int, limit: int) -> str:
    head = int(kept * _HEAD_SHARE)
    tail = kept - head
    notice = (
        f"\n[… {len(text) - kept:,} of {len(text):,} characters left out to stay within"
        f" {limit:,} tokens; ask for less at a time to see them …]\n"
    )
    return text[:head] + notice + text[len(text) - tail :]
