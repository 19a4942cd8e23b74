"""Which encoding a file has: by its mark, its own words, .editorconfig, or its bytes."""

from collections.abc import Callable
from dataclasses import replace

from treadle.charsets.declared import declared_label
from treadle.charsets.detected import detected, is_damaged_utf8, with_shifts
from treadle.charsets.model import UTF_8, Charset, codec_of, is_text, is_utf8

PROPERTIES = ".properties"

_SUPERSETS = {
    "iso8859-9": ("cp1254",), "shift_jis": ("cp932",), "gb2312": ("gbk", "gb18030"),
    "gbk": ("gb18030",), "big5": ("cp950", "big5hkscs"), "euc_kr": ("cp949",),
}  # fmt: skip
"""Encodings that files of the same name are often in."""

Configured = Callable[[], str | None]
"""The `charset` that an .editorconfig file sets for the path, if any."""


def charset_of(path: str, data: bytes, configured: Configured = lambda: None) -> Charset:
    """The encoding of the file at `path`, which has the content `data`.

    In this order: a byte order mark; what the file declares, unless its bytes contradict it; for
    a `.properties` file ASCII or ISO-8859-1 with escapes, unless it is UTF-8; `configured`,
    unless its bytes contradict it; UTF-8; else what its bytes suggest.
    """
    if data.startswith(b"\xef\xbb\xbf"):
        return UTF_8
    shifted = with_shifts(data)
    ascii_only = data.isascii() and shifted is None
    label = declared_label(path, data)
    if label is not None:
        return _as_declared(label, data, ascii_only=ascii_only, shifted=shifted is not None)
    if shifted is not None:
        return Charset(shifted, "detected from its bytes")
    if path.lower().endswith(PROPERTIES) and (ascii_only or not is_utf8(data)):
        return _of_properties(configured, ascii_only=ascii_only)
    set_to = configured()
    found = _as_configured(set_to, data) if set_to is not None else None
    if found is not None:
        return found
    return UTF_8 if is_utf8(data) or is_damaged_utf8(data) else detected(data)


def charset_of_new(path: str, content: str, configured: Configured = lambda: None) -> Charset:
    """The encoding in which a new file at `path` with `content` is written."""
    label = declared_label(path, content.encode("utf-8", "replace"))
    if label is not None:
        codec = codec_of(label)
        if codec is None:
            return Charset(None, f"it declares the encoding {label!r}, which is not supported")
        return Charset(codec, f"declared as {label!r}")
    if path.lower().endswith(PROPERTIES):
        return _of_properties(configured, ascii_only=True)
    set_to = configured()
    return (_as_configured(set_to, b"") if set_to is not None else None) or UTF_8


def _as_declared(label: str, data: bytes, *, ascii_only: bool, shifted: bool) -> Charset:
    codec = codec_of(label)
    high = not ascii_only and not shifted
    if codec == "utf-8" and (not high or is_utf8(data) or is_damaged_utf8(data)):
        return UTF_8
    if codec is None:
        return Charset(None, f"the file declares the encoding {label!r}, which is not supported")
    if high and is_utf8(data):
        note = f"It declares the encoding {label!r} but is UTF-8, and new text is as well."
        return replace(UTF_8, note=note)
    return _fitting(codec, data, f"declared as {label!r}") or Charset(
        None, f"the file declares the encoding {label!r}, but some of its bytes are not in it"
    )


def _fitting(codec: str, data: bytes, known: str) -> Charset | None:
    """The encoding, or a wider form of it, when all of `data` but a few bytes is in it."""
    if codec.startswith("iso2022"):
        return Charset(codec, known)  # its lines are looked at one by one
    forms = (codec, *_SUPERSETS.get(codec, ()))
    fitting = next((name for name in forms if is_text(data, name)), None)
    if fitting is None:
        fitting = next((name for name in reversed(forms) if _is_damaged(data, name)), None)
    return None if fitting is None else Charset(fitting, known)


def _is_damaged(data: bytes, codec: str) -> bool:
    """Whether nearly all of `data` is in the encoding."""
    text = data.decode(codec, "replace")
    lost = text.count("\ufffd")
    return sum(not char.isascii() for char in text) - lost > 4 * lost


def _of_properties(configured: Configured, *, ascii_only: bool) -> Charset:
    """Some of its readers expect ISO-8859-1 and some UTF-8; all understand escapes."""
    if not ascii_only:
        return Charset("iso8859-1", "of a .properties file", escapes=True)
    if codec_of(configured() or "") == "utf-8":
        return UTF_8
    return Charset("ascii", "of a .properties file", escapes=True)


def _as_configured(label: str, data: bytes) -> Charset | None:
    codec = codec_of(label)
    if codec is None:
        return Charset(None, f".editorconfig sets the encoding {label!r}, which is not supported")
    if not data.isascii() and codec != "utf-8" and is_utf8(data):
        return None  # it is UTF-8 already, and stays so
    known = f"set to {label!r} in .editorconfig"
    return Charset(codec, known) if is_text(data, codec) else None
