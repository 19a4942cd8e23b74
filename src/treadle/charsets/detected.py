"""Which encoding the bytes of a file are in, when nothing says so."""

import re

from treadle.charsets.model import Charset, codec_of, is_text

MAX_BYTES = 200_000
"""Bytes of lines with other characters than ASCII that are looked at."""

_CANDIDATES = (
    "cp932", "euc-jp", "gb18030", "big5", "cp949", "windows-1250", "windows-1251", "windows-1252",
    "windows-1253", "windows-1254", "koi8-r", "iso-8859-2",
)  # fmt: skip
"""Encodings of source code that are in use; each addition makes short texts harder to identify."""

_CLOSE = 1.3
_CLOSE_FOR_FEW = 4
"""How many times as likely as its rivals an encoding must be to be taken without them.

The second is for a text with less than `_FEW` bytes that are not ASCII.
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
    """Whether `data`, which is not UTF-8, is so but for single bytes."""
    characters, others = _utf8_parts(data)
    return characters > 2 * others


def _utf8_parts(data: bytes) -> tuple[int, int]:
    """How many characters of UTF-8 are in `data`, and how many other bytes that are not ASCII."""
    rest, characters = _UTF8_CHARACTER.subn(b"", data)
    return characters, len(_HIGH.findall(rest))


def with_shifts(data: bytes) -> str | None:
    """The encoding of text that is all in ASCII bytes but has shift sequences."""
    return "iso2022_jp" if b"\x1b$" in data and _ISO_2022_JP.search(data) else None


def detected(data: bytes) -> Charset:
    """The encoding of `data`, which is not UTF-8, and its rivals; without a codec if none fits."""
    unlikely = _unlikely(data)
    told = b"\n".join(line for line in data.split(b"\n") if not line.isascii())
    found = [
        (codec, weight)
        for codec, weight in _weighed(told)
        if codec not in unlikely and is_text(data, codec) and _is_probable(told, codec)
    ]
    if not found:
        return Charset(None, _UNCLEAR)
    best, weight = found[0]
    characters, others = _utf8_parts(data)
    if characters and best not in _SEVERAL_BYTES:  # of which no text has such a sequence
        return Charset(None, _MIXED)
    few = others + 2 * characters < _FEW
    close = _CLOSE_FOR_FEW if few else _CLOSE
    rivals = [codec for codec, other in found[1:] if other * close > weight]
    if few and best == "cp949":  # its syllables are the signs of other encodings
        rivals = [codec for codec in sorted(_SEVERAL_BYTES - {best}) if is_text(data, codec)]
    western = next((codec for codec, _ in found if codec in _WESTERN), None)
    if few and best in _LATIN and western is not None:
        rivals = [codec for codec in sorted(_LATIN - _WESTERN) if is_text(data, codec)]
        best = western
    return Charset(best, "detected from its bytes", tuple(rivals))


def _is_probable(data: bytes, codec: str) -> bool:
    """Whether the text could be meant: Korean is written in Hangul, hardly in Chinese signs."""
    if codec != "cp949":
        return True
    text = data.decode(codec)
    common = len(data) > 10 * _FEW or is_text(data, "euc_kr")
    return common and len(_HANGUL.findall(text)) >= 4 * len(_IDEOGRAPH.findall(text))


def _unlikely(data: bytes) -> frozenset[str]:
    """Encodings that do not fit how bytes follow each other: letters with accents stand alone."""
    runs = _RUN.findall(data)
    alone = sum(len(run) == 1 for run in runs)
    if 2 * alone >= len(runs):
        return _OTHER_ALPHABETS
    return _LATIN if sum(map(len, runs)) > 3 * len(runs) else frozenset()


def _weighed(data: bytes) -> list[tuple[str, float]]:
    """Codecs by how well the bytes fit them, best first."""
    from chardet import detect_all  # it loads its models: 50 ms

    results = detect_all(
        data[:MAX_BYTES], ignore_threshold=True, include_encodings=_CANDIDATES, max_bytes=MAX_BYTES
    )
    weighed: dict[str, float] = {}
    for result in results:
        codec = codec_of(result["encoding"] or "")
        if codec == "cp1252" and not _C1.search(data):
            codec = "iso8859-1"  # nothing shows that it has what Windows adds
        if codec == "gb18030" and is_text(data, "gbk"):
            codec = "gbk"  # nor that it has characters of four bytes
        if codec is not None:
            weighed.setdefault({"big5": "cp950"}.get(codec, codec), result["confidence"])
    return list(weighed.items())
