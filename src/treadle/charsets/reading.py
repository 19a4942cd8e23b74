"""Files in another encoding, read as UTF-8."""

from treadle.charsets.deciding import Configured, charset_of
from treadle.charsets.transcoding import ShiftStateError, Transcoded


def as_utf8(path: str, data: bytes, configured: Configured = lambda: None) -> bytes:
    """The text of the file at `path` as UTF-8; `data` itself where its encoding is not known."""
    if data.isascii() and b"\x1b$" not in data:
        return data
    charset = charset_of(path, data, configured)
    if charset.stored is None:
        return data
    try:
        return Transcoded(data, charset).text
    except ShiftStateError:
        return data
