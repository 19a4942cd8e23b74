"""The text of source files: decoding, and the conversion of offsets to line numbers."""

from bisect import bisect_right
from itertools import accumulate


class Lines:
    """Converts byte offsets to line numbers (from 1)."""

    def __init__(self, source: bytes) -> None:
        lengths = map(len, source.split(b"\n")[:-1])
        self.starts = list(accumulate(map((1).__add__, lengths), initial=0))

    def of(self, offset: int) -> int:
        """Return the line that contains the byte at `offset`."""
        return bisect_right(self.starts, offset)


def plain_text(data: bytes) -> str:
    """Decode the bytes of a file for splitting into terms.

    Bytes that are not valid UTF-8 are decoded as Latin-1, so that words stay whole.
    """
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")
