"""Files whose encoding is detected: declarations, .editorconfig files, and any bytes."""

from treadle.charsets import (
    ShiftStateError,
    Transcoded,
    charset_of,
    configured_charset,
)

REFUSALS = (ShiftStateError,)
SEEDS = (
    b"a.py\0# -*- coding: latin-1 -*-\nx = '\xe9'\n",
    "a.c\0// 表示する 設定\nint a;\n".encode("cp932"),
    "a.c\0// 設定を読む\n".encode("iso2022_jp"),
    "a.c\0// 中文 测试\n".encode("gb18030"),
    b'a.html\0<meta charset="windows-1251">\n\xef\xf0\xe8\n',
    b"a.txt\0root = true\n[*.{txt,c}]\ncharset = latin1\n[a/**/b[!c].d]\ncharset=utf-8\n",
    "a.properties\0a=é\n".encode("latin-1"),
)
WORDS = (b"coding:", b"charset=", b"\x1b$B", b"\x1b(B", b"fileencoding=", b'encoding="', b"[*]\n")


def parse(data: bytes) -> None:
    name, _, content = data.partition(b"\0")
    path = name.decode("latin-1")[:80].strip("/") or "a"
    configured_charset(path, {".editorconfig": content}.get)
    charset = charset_of(path, content, lambda: None)
    if charset.codec is None or charset.is_utf8:
        return
    text = Transcoded(content, charset)
    assert text.encode_part(text.text) == content
    for at in range(0, min(len(content), 40) + 1, 7):
        found = text.offset(at, content)
        assert found is None or 0 <= found <= len(text.text)
