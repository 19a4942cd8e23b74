"""Text of source files: line numbers and decoding."""

from bisect import bisect_right
from itertools import accumulate


class Lines:
    """Converts byte offsets to line numbers (from 1)."""

    def __init__(self, source: bytes) -> None:
        lengths = map(len, source.split(b"\n")[:-1])
        self.starts = list(accumulate(map((1).__add__, lengths), initial=0))

    def of(self, offset: int) -> int:
        """The line that contains the byte at `offset`."""
        return bisect_right(self.starts, offset)


def plain_text(data: bytes) -> str:
    """Text for terms; it is decoded as Latin-1 where it is not UTF-8, so that words stay whole."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")
