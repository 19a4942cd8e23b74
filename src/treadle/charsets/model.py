"""The encoding of a file: its codec, how certain it is, and the encoding of new text."""

import codecs
from dataclasses import dataclass

from treadle.errors import TreadleError

_UNSUPPORTED = frozenset({
    "utf-7", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be",
    "punycode", "idna", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs", "oem",
    "iso2022_kr", "hz", "cp037", "cp273", "cp424", "cp500", "cp875", "cp1026", "cp1140",
})  # fmt: skip
"""Python's codecs that do not write ASCII text as ASCII, or that are not encodings."""

_LABELS = {
    "x-sjis": "shift_jis", "ms_kanji": "cp932", "windows-31j": "cp932", "x-euc-jp": "euc_jp",
    "x-gbk": "gbk", "gb_2312-80": "gb2312", "x-x-big5": "big5", "big5-hkscs": "big5hkscs",
    "ks_c_5601-1987": "cp949", "windows-949": "cp949", "x-windows-949": "cp949",
    "windows-936": "gbk", "windows-950": "cp950", "windows-874": "cp874",
    "x-mac-cyrillic": "mac_cyrillic", "macintosh": "mac_roman", "x-cp1251": "cp1251",
    "x-cp1252": "cp1252", "ansi": "cp1252", "utf8mb4": "utf-8",
    "latin-1-unix": "latin-1", "cp1252-dos": "cp1252",
    "ansinew": "cp1252", "applemac": "mac_roman", "latin9": "iso8859-15", "latin0": "iso8859-15",
    "utf8x": "utf-8", "utf-8-bom": "utf-8", "euc-japan": "euc_jp",
    "japanese-shift-jis": "shift_jis",
    "japanese-iso-8bit": "euc_jp", "cyrillic-koi8": "koi8-r", "chinese-gbk": "gbk",
}  # fmt: skip
"""Names of encodings that Python does not know, with Python's names for them.

Files of Emacs, HTML and LaTeX contain these names.
"""

_DISPLAY_NAMES = {
    "cp932": "Shift_JIS (cp932)", "shift_jis": "Shift_JIS", "euc_jp": "EUC-JP",
    "iso2022_jp": "ISO-2022-JP", "gb18030": "GB18030", "gbk": "GBK", "gb2312": "GB2312",
    "big5": "Big5", "cp950": "Big5 (cp950)", "cp949": "EUC-KR (cp949)", "euc_kr": "EUC-KR",
    "iso8859-1": "ISO-8859-1", "koi8-r": "KOI8-R", "ascii": "US-ASCII", "utf-8": "UTF-8",
}  # fmt: skip


class EncodingError(TreadleError):
    """The encoding of a file cannot represent a text.

    `position` is the index of the first character that the encoding lacks. `reason` continues a
    sentence that names the character.
    """

    def __init__(self, position: int, reason: str, hint: str) -> None:
        super().__init__(reason, hint=hint)
        self.position = position
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Charset:
    r"""An encoding, and how certain it is.

    `codec` is Python's name of the encoding. `codec` is None if the bytes of the file do not
    determine the encoding. To such a file, only ASCII can be written. `evidence` states how the
    encoding was found. `rivals` are other encodings that fit the bytes about as well. With
    `escapes`, characters that the encoding does not have become `\uXXXX`, as in `.properties`
    files. `note` is a sentence for the author of an edit.
    """

    codec: str | None
    evidence: str = ""
    rivals: tuple[str, ...] = ()
    escapes: bool = False
    note: str | None = None

    @property
    def is_utf8(self) -> bool:
        """Whether text is written as UTF-8."""
        return self.codec == "utf-8"

    @property
    def stored(self) -> str | None:
        """The codec that is stored with a change, or None for UTF-8 and for unknown encodings."""
        return None if self.is_utf8 else self.codec

    @property
    def name(self) -> str:
        """The name of the encoding in messages."""
        return "an unknown encoding" if self.codec is None else display_name(self.codec)

    @property
    def stateful(self) -> bool:
        """Whether the meaning of bytes depends on the bytes before them."""
        return self.codec is not None and self.codec.startswith("iso2022")

    def encode(self, text: str) -> bytes:
        """Encode `text`. Raises EncodingError for the first character that the encoding lacks."""
        return self.writable(text).encode(self.codec or "ascii")

    def writable(self, text: str) -> str:
        """Return `text` in a writable form, with escapes if the file uses them.

        Raises EncodingError for the first character that cannot be written.
        """
        if text.isascii():
            return text
        if self.codec is None:
            raise EncodingError(
                _first_non_ascii(text),
                f"but {self.evidence}, so that only ASCII can be written to it.",
                "Ask the person to convert the file to UTF-8, or to set `charset` for it in an "
                ".editorconfig file.",
            )
        if self.escapes:
            text = "".join(char if self._has(char) else _escaped(char) for char in text)
        found = _encoded(text, self.codec)
        if found is None:
            position = next(at for at, char in enumerate(text) if not self._has(char))
            raise EncodingError(
                position,
                f"which {self.name}, the encoding of the file ({self.evidence}), does not have.",
                "Write an escape of the language for it, or other characters; or ask the "
                "person to convert the file to UTF-8.",
            )
        self._check_rivals(text, found)
        return text

    def _check_rivals(self, text: str, found: bytes) -> None:
        alternatives = [
            name for name in self.rivals if (other := _encoded(text, name)) and other != found
        ]
        if alternatives:
            names = " or ".join(map(display_name, alternatives))
            raise EncodingError(
                _first_non_ascii(text),
                f"but the file may be {self.name} or {names}, which write it differently.",
                "Ask the person to set `charset` in an .editorconfig file, to declare the "
                "encoding in the file, or to convert it to UTF-8.",
            )

    def _has(self, char: str) -> bool:
        return self.codec is not None and _encoded(char, self.codec) is not None


UTF_8 = Charset("utf-8")


def is_utf8(data: bytes) -> bool:
    """Whether all of `data` is UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def codec_of(label: str) -> str | None:
    """Return Python's name of the encoding that `label` names, or None.

    The result is None if the encoding is unknown, or if Treadle cannot edit text in this encoding.
    """
    label = label.strip().strip("\"'").lower()
    for end in ("-unix", "-dos", "-mac"):  # Emacs appends the type of line ends
        label = label.removesuffix(end)
    try:
        found = codecs.lookup(_LABELS.get(label, label))
    except (LookupError, ValueError):  # ValueError: the label contains a NUL
        return None
    if not getattr(found, "_is_text_encoding", True):
        return None
    name = "utf-8" if found.name == "utf-8-sig" else found.name
    return None if name in _UNSUPPORTED else name


def display_name(codec: str) -> str:
    """Return the name of a codec in messages."""
    if codec in _DISPLAY_NAMES:
        return _DISPLAY_NAMES[codec]
    if codec.startswith("cp125"):
        return codec.replace("cp", "windows-")
    return codec.replace("iso8859", "ISO-8859")


def is_text(data: bytes, codec: str) -> bool:
    """Whether `data` is valid in the encoding.

    Encoding the text again may still return other bytes.
    """
    try:
        data.decode(codec)
    except UnicodeError:
        return False
    return True


def round_trips(data: bytes, codec: str) -> bool:
    """Whether `data` decodes, and its text encodes to exactly these bytes."""
    try:
        return data.decode(codec).encode(codec) == data
    except (UnicodeError, LookupError):
        return False


def _encoded(text: str, codec: str) -> bytes | None:
    """Encode `text`, or return None if the bytes would not decode to the same text."""
    try:
        data = text.encode(codec)
        return data if data.decode(codec) == text else None
    except UnicodeError:
        return None


def _escaped(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _first_non_ascii(text: str) -> int:
    return next(at for at, char in enumerate(text) if not char.isascii())
