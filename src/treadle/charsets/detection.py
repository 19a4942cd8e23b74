"""Detects the encoding of a file from its byte order mark, declaration, .editorconfig or bytes."""

import re
from collections.abc import Callable
from dataclasses import replace

from treadle.charsets.model import UTF_8, Charset, codec_of, is_text, is_utf8

MAX_BYTES = 200_000
"""The maximum number of bytes that are examined. Only lines with non-ASCII bytes are examined."""

_CANDIDATES = (
    "cp932", "euc-jp", "gb18030", "big5", "cp949", "windows-1250", "windows-1251", "windows-1252",
    "windows-1253", "windows-1254", "koi8-r", "iso-8859-2",
)  # fmt: skip
"""Encodings that source code uses. Each addition makes short texts harder to identify."""

_CLOSE = 1.3
_CLOSE_FOR_FEW = 4
"""An encoding has no rivals (see `Charset`) if it is this many times as likely as the next one.

`_CLOSE_FOR_FEW` is for a text with fewer than `_FEW` bytes that are not ASCII.
"""

_FEW = 16

_UTF8_CHARACTER = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
_HANGUL = re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]")
_IDEOGRAPH = re.compile("[\u3400-\u9fff\uf900-\ufaff]")
_RUN = re.compile(rb"[\x80-\xff]+")
_HIGH = re.compile(rb"[\x80-\xff]")
_C1 = re.compile(rb"[\x80-\x9f]")
_ISO_2022_JP = re.compile(rb"\x1b\$[@B]")

_UNCLEAR = "its bytes do not identify its encoding"
_MIXED = "some of its bytes are UTF-8 and some are not"

_LATIN = frozenset({"cp1250", "cp1252", "cp1254", "iso8859-1", "iso8859-2"})
_WESTERN = frozenset({"cp1252", "iso8859-1"})
_OTHER_ALPHABETS = frozenset({"cp1251", "cp1253", "koi8-r"})
_SEVERAL_BYTES = frozenset({"cp932", "euc_jp", "gb18030", "gbk", "cp950", "big5hkscs", "cp949"})


def is_damaged_utf8(data: bytes) -> bool:
    """Whether `data` is UTF-8 except for a few invalid bytes."""
    characters, invalid = _utf8_parts(data)
    return characters > 2 * invalid


def _utf8_parts(data: bytes) -> tuple[int, int]:
    """Count the UTF-8 characters in `data` that are not ASCII, and the invalid bytes."""
    rest, characters = _UTF8_CHARACTER.subn(b"", data)
    return characters, len(_HIGH.findall(rest))


def with_shifts(data: bytes) -> str | None:
    """Return the encoding of ASCII bytes that contain ISO-2022-JP shift sequences, or else None."""
    return "iso2022_jp" if b"\x1b$" in data and _ISO_2022_JP.search(data) else None


def detected(data: bytes) -> Charset:
    """Detect the encoding of `data`, which is not UTF-8.

    The result also has other encodings that fit about as well (`Charset.rivals`).

    The result has no codec if no encoding fits.
    """
    unlikely = _unlikely(data)
    encoded_lines = b"\n".join(line for line in data.split(b"\n") if not line.isascii())
    found = [
        (codec, weight)
        for codec, weight in _weighed(encoded_lines)
        if codec not in unlikely and is_text(data, codec) and _is_probable(encoded_lines, codec)
    ]
    if not found:
        return Charset(None, _UNCLEAR)
    best, weight = found[0]
    characters, invalid = _utf8_parts(data)
    if characters and best not in _SEVERAL_BYTES:  # single-byte text has no UTF-8 sequence
        return Charset(None, _MIXED)
    few = invalid + 2 * characters < _FEW
    close = _CLOSE_FOR_FEW if few else _CLOSE
    rivals = [codec for codec, other in found[1:] if other * close > weight]
    if few and best == "cp949":  # other encodings use the same bytes
        rivals = [codec for codec in sorted(_SEVERAL_BYTES - {best}) if is_text(data, codec)]
    western = next((codec for codec, _ in found if codec in _WESTERN), None)
    if few and best in _LATIN and western is not None:
        rivals = [codec for codec in sorted(_LATIN - _WESTERN) if is_text(data, codec)]
        best = western
    return Charset(best, "detected from its bytes", tuple(rivals))


def _is_probable(data: bytes, codec: str) -> bool:
    """Whether the text of `data` in the encoding `codec` is plausible.

    Korean text consists of Hangul, and rarely of Chinese characters.
    """
    if codec != "cp949":
        return True
    text = data.decode(codec)
    common = len(data) > 10 * _FEW or is_text(data, "euc_kr")
    return common and len(_HANGUL.findall(text)) >= 4 * len(_IDEOGRAPH.findall(text))


def _unlikely(data: bytes) -> frozenset[str]:
    """Return the encodings that do not fit the bytes.

    Non-ASCII bytes are mostly isolated in Latin text. In other alphabets, non-ASCII bytes form long
    runs.
    """
    runs = _RUN.findall(data)
    alone = sum(len(run) == 1 for run in runs)
    if 2 * alone >= len(runs):
        return _OTHER_ALPHABETS
    return _LATIN if sum(map(len, runs)) > 3 * len(runs) else frozenset()


def _weighed(data: bytes) -> list[tuple[str, float]]:
    """Return codecs with the confidence that they are right, best first."""
    from chardet import detect_all  # imported late, since it loads its models in 50 ms

    results = detect_all(
        data[:MAX_BYTES], ignore_threshold=True, include_encodings=_CANDIDATES, max_bytes=MAX_BYTES
    )
    weighed: dict[str, float] = {}
    for result in results:
        codec = codec_of(result["encoding"] or "")
        if codec == "cp1252" and not _C1.search(data):
            codec = "iso8859-1"  # the text has no character that only windows-1252 has
        if codec == "gb18030" and is_text(data, "gbk"):
            codec = "gbk"  # the text has no character of four bytes
        if codec is not None:
            weighed.setdefault({"big5": "cp950"}.get(codec, codec), result["confidence"])
    return list(weighed.items())


_HEAD = 2_048
"""A declaration counts only within this many bytes from the beginning. HTML requires 1,024."""

_NAME = rb"([-\w.:+]{1,40})"
_PYTHON = re.compile(rb"^[ \t\f]*#[^\n]{0,200}?coding[:=][ \t]*" + _NAME)
_EMACS = re.compile(rb"-\*-[^\n]{0,200}?\bcoding:[ \t]*" + _NAME + rb"[^\n]{0,200}?-\*-")
_VIM = re.compile(rb"\bvim?:[^\n]{0,200}?\b(?:fileencoding|fenc)=" + _NAME)
_XML = re.compile(rb"\s{0,20}<\?xml[^>]{0,200}?\bencoding\s{0,9}=\s{0,9}[\"']" + _NAME)
_META = re.compile(
    rb"<meta\b[^>]{0,400}?\bcharset\s{0,9}=\s{0,9}[\"']?\s{0,9}" + _NAME, re.IGNORECASE
)
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_CSS = re.compile(rb"@charset \"" + _NAME + rb"\";")
_LATEX = re.compile(rb"^[^%\n]{0,200}\\usepackage\[([-\w]{1,40})\]\{inputenc\}", re.MULTILINE)
_TEX_COMMENT = re.compile(rb"^%\s*!TEX\s+encoding\s*=\s*" + _NAME, re.IGNORECASE | re.MULTILINE)
_GETTEXT = re.compile(
    rb"^(?:msgstr[ \t]{1,9})?\"Content-Type:[^\n]{0,100}?charset=" + _NAME,
    re.IGNORECASE | re.MULTILINE,
)

_JSP = re.compile(
    rb"<%@\s{0,9}page\b[^>]{0,300}?\b(?:pageEncoding\s{0,9}=\s{0,9}[\"']|charset=)" + _NAME
)

_HTML_ENDINGS = (".html", ".htm", ".xhtml", ".shtml", ".jsp", ".asp", ".php", ".erb", ".ejs")
_HASH_ENDINGS = (".py", ".pyi", ".pyw", ".pyx", ".pxd", ".rb", ".rake", ".gemspec")
_CSS_ENDINGS = (".css", ".scss", ".sass", ".less")
_TEX_ENDINGS = (".tex", ".sty", ".cls", ".bib")
_GETTEXT_ENDINGS = (".po", ".pot")

_UNDECIDED = frozenset({"undecided", "raw-text", "prefer-utf-8", "no-conversion", "binary"})
"""Coding systems of Emacs that name no encoding. Emacs detects the encoding from the bytes."""


def declared_label(path: str, data: bytes) -> str | None:
    """Return the name of the encoding that the file declares in its own text, or None."""
    head = data[:_HEAD]
    name = path.lower()
    lines = head.split(b"\n", 2)[:2]
    found = _XML.match(head)
    if found is None and name.endswith(_HASH_ENDINGS):
        found = _in_first_lines(lines)
    if found is None and name.endswith(_HTML_ENDINGS):
        found = _JSP.search(head) or _META.search(_COMMENT.sub(b"", head))
    if found is None and name.endswith(_CSS_ENDINGS):
        found = _CSS.match(head)
    if found is None and name.endswith(_TEX_ENDINGS):
        found = _TEX_COMMENT.search(head) or _LATEX.search(data[: 4 * _HEAD])
    if found is None and name.endswith(_GETTEXT_ENDINGS):
        found = _GETTEXT.search(head)
        if found is not None and found[1] == b"CHARSET":
            found = None  # the template's placeholder, not an encoding
    if found is None:
        found = next((mode for line in lines if (mode := _EMACS.search(line))), None)
    if found is None:
        outer = (*head.split(b"\n", 5)[:5], *data[-_HEAD:].rsplit(b"\n", 6)[1:])
        found = next((mode for line in outer if (mode := _VIM.search(line))), None)
    label = None if found is None else found[1].decode("ascii", "replace")
    return None if label in _UNDECIDED else label


def _in_first_lines(lines: list[bytes]) -> re.Match[bytes] | None:
    """Find a declaration by the rules of PEP 263.

    The second line counts only after a comment or an empty line.
    """
    for number, line in enumerate(lines):
        if found := _PYTHON.match(line):
            return found
        if number == 0 and line.strip() and not line.lstrip().startswith(b"#"):
            return None
    return None


PROPERTIES = ".properties"

_SUPERSETS = {
    "iso8859-9": ("cp1254",), "shift_jis": ("cp932",), "gb2312": ("gbk", "gb18030"),
    "gbk": ("gb18030",), "big5": ("cp950", "big5hkscs"), "euc_kr": ("cp949",),
}  # fmt: skip
"""Maps an encoding to the larger encodings that are often meant by its name."""

Configured = Callable[[], str | None]
"""Returns the `charset` that an .editorconfig file sets for the path, or None."""


def charset_of(path: str, data: bytes, configured: Configured = lambda: None) -> Charset:
    """Return the encoding of the file at `path` with the content `data`.

    A byte order mark decides first. Next is the declaration of the file, unless its bytes
    contradict the declaration. A `.properties` file without a declaration is ASCII or ISO-8859-1
    with escapes, unless it is UTF-8. Next is `configured`, unless the bytes contradict the setting.
    Otherwise the file is UTF-8 if its bytes are valid, or else the encoding is detected from the
    bytes.
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
    """Return the encoding of a new file at `path` with `content`."""
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


def _fitting(codec: str, data: bytes, evidence: str) -> Charset | None:
    """Return the encoding `codec` or a superset that fits `data`, or None.

    A few bytes of `data` may be invalid.
    """
    if codec.startswith("iso2022"):
        return Charset(codec, evidence)  # the caller checks the lines one by one
    forms = (codec, *_SUPERSETS.get(codec, ()))
    fitting = next((name for name in forms if is_text(data, name)), None)
    if fitting is None:
        fitting = next((name for name in reversed(forms) if _is_damaged(data, name)), None)
    return None if fitting is None else Charset(fitting, evidence)


def _is_damaged(data: bytes, codec: str) -> bool:
    """Whether almost all of `data` fits the encoding."""
    text = data.decode(codec, "replace")
    lost = text.count("\ufffd")
    return sum(not char.isascii() for char in text) - lost > 4 * lost


def _of_properties(configured: Configured, *, ascii_only: bool) -> Charset:
    """Return the encoding of a `.properties` file.

    Some readers expect ISO-8859-1 and some expect UTF-8, but all readers understand escapes.
    """
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
        return None  # the file is UTF-8, and stays UTF-8
    known = f"set to {label!r} in .editorconfig"
    return Charset(codec, known) if is_text(data, codec) else None
