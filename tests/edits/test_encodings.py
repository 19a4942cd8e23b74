"""Files in every encoding: new text is encoded or refused, and every other byte is kept."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from treadle.charsets import charset_of
from treadle.edits.diffs import unified
from treadle.edits.model import EditError, Proposal, ProposalState
from treadle.edits.patches import parse_patch
from treadle.edits.proposal_store import ProposalStore
from treadle.edits.requests import (
    CreateFile,
    DeleteFile,
    EditRequest,
    LineRangeEdit,
    RangeEdit,
    ReplaceEdit,
)
from treadle.edits.service import Edits
from treadle.events.types import ErrorKind

JAPANESE = "// 設定を読み込む関数です。\nint a; // 表示する\nint b;\n"
GREEK = "// Διαβάζει τις ρυθμίσεις του χρήστη.\nint a; // τιμή\nint b;\n"
RUSSIAN = "// Читает настройки пользователя из файла.\nint a; // значение\nint b;\n"
CHINESE = "// 读取用户的配置文件并返回结果。\nint a; // 数值\nint b;\n"
TAIWAN = "// 讀取使用者的設定檔並傳回結果。\nint a; // 數值\nint b;\n"
KOREAN = "// 사용자의 설정 파일을 읽어서 돌려줍니다.\nint a; // 값\nint b;\n"
FRENCH = "// Relit la configuration à côté, déjà chargée.\nint a; // élément\nint b;\n"

LEGACY = [
    ("shift_jis", JAPANESE, "値を返す"),
    ("euc_jp", JAPANESE, "値を返す"),
    ("iso2022_jp", JAPANESE, "値を返す"),
    ("gb18030", CHINESE, "返回数值"),
    ("gbk", CHINESE, "返回数值"),
    ("big5", TAIWAN, "傳回數值"),
    ("euc_kr", KOREAN, "값을 돌려준다"),
    ("cp1251", RUSSIAN, "вернуть значение"),
    ("koi8_r", RUSSIAN, "вернуть значение"),
    ("cp1253", GREEK, "επιστρέφει τιμή"),
    ("latin-1", FRENCH, "à côté"),
    ("cp1252", FRENCH.replace("'", "\u2019") + "// \u201cdéjà\u201d\n", "\u201cété\u201d"),
]


@pytest.fixture
def edits(tmp_path: Path) -> Iterator[Edits]:
    root = tmp_path / "root"
    root.mkdir()
    store = ProposalStore.open(tmp_path / "proposals.db")
    yield Edits(root, store)
    store.close()


def write(edits: Edits, name: str, data: bytes) -> Path:
    path = edits.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def applied(edits: Edits, *requests: EditRequest) -> Proposal:
    return edits.apply(edits.stage(requests).id)


def refused(edits: Edits, *requests: EditRequest) -> EditError:
    with pytest.raises(EditError) as caught:
        edits.stage(requests)
    return caught.value


def patch(name: str, *lines: str) -> tuple[EditRequest, ...]:
    return parse_patch("\n".join([f"--- a/{name}", f"+++ b/{name}", "@@ -1,3 +1,3 @@", *lines, ""]))


@pytest.mark.parametrize(("codec", "text", "word"), LEGACY)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_new_text_is_written_in_the_encoding_of_the_file(
    edits: Edits, codec: str, text: str, word: str, end: str
) -> None:
    before = text.replace("\n", end).encode(codec)
    path = write(edits, "a.c", before)
    old = text.split("\n", maxsplit=1)[0].removeprefix("// ")
    start = before.index(b"int b;")
    ways: list[tuple[tuple[EditRequest, ...], str]] = [
        ((ReplaceEdit("a.c", old, word),), text.replace(old, word)),
        ((ReplaceEdit("a.c", "int b;", f"int b; // {word}"),), text.replace("b;", f"b; // {word}")),
        ((LineRangeEdit("a.c", 3, 3, f"// {word}"),), text.replace("int b;", f"// {word}")),
        (
            patch("a.c", f" {text.splitlines()[1]}", "-int b;", f"+int b; // {word}"),
            text.replace("b;", f"b; // {word}"),
        ),
    ]
    if codec != "iso2022_jp":
        ways.append(
            ((RangeEdit("a.c", start, start + 6, f"/* {word} */"),),
             text.replace("int b;", f"/* {word} */"))
        )  # fmt: skip
    for requests, expected in ways:
        proposal = applied(edits, *requests)
        assert path.read_bytes() == expected.replace("\n", end).encode(codec)
        assert word in unified(proposal.changes[0])
        edits.undo(proposal.id)
        assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", "# -*- coding: {} -*-\nx = 1\n"),
        ("b.py", "#!/usr/bin/env python\n# vim: set fileencoding={} :\nx = 1\n"),
        ("c.rb", "# encoding: {}\nx = 1\n"),
        ("d.html", '<html><head><meta charset="{}"><title>x = 1</title>\n'),
        ("e.htm", '<META http-equiv=Content-Type content="text/html; charset={}">\nx = 1\n'),
        ("f.xml", "<?xml version='1.0' encoding='{}'?>\n<a>x = 1</a>\n"),
        ("g.svg", '<?xml version="1.0" encoding="{}"?>\n<svg>x = 1</svg>\n'),
        ("h.css", '@charset "{}";\n/* x = 1 */\n'),
        ("i.el", ";; -*- coding: {} -*-\nx = 1\n"),
        ("j.c", "x = 1\n// vim: fenc={}\n"),
        ("k.po", '"Content-Type: text/plain; charset={}\\n"\nx = 1\n'),
        ("l.jsp", '<%@ page pageEncoding="{}" %>\nx = 1\n'),
    ],
)
@pytest.mark.parametrize(
    ("label", "codec", "word", "foreign"),
    [
        ("iso-8859-1", "latin-1", "déjà", "€"),
        ("Shift_JIS", "shift_jis", "日本", "é"),
        ("windows-1251", "cp1251", "да", "日"),
        ("euc-jp", "euc_jp", "日本", "😀"),
    ],
)
def test_a_declared_encoding_is_used_and_its_missing_characters_are_refused(
    edits: Edits, name: str, text: str, label: str, codec: str, word: str, foreign: str
) -> None:
    text = text.format(label)
    path = write(edits, name, text.encode())
    applied(edits, ReplaceEdit(name, "x = 1", f"x = '{word}'"))
    after = text.replace("x = 1", f"x = '{word}'").encode(codec)
    assert path.read_bytes() == after
    char = foreign[-1]
    error = refused(edits, ReplaceEdit(name, "x = '", f"y = '{char}"))
    assert error.kind is ErrorKind.VALIDATION
    assert f"'{char}' (U+{ord(char):04X}, line 1, character 6)" in error.message
    assert "declared as" in error.message
    assert name in error.message
    assert path.read_bytes() == after
    new = text.replace("x = 1", word)
    applied(edits, CreateFile(f"new/{name}", new))
    assert (edits.root / "new" / name).read_bytes() == new.encode(codec)
    assert f"'{char}'" in refused(edits, CreateFile(f"newer/{name}", new + char)).message
    assert not (edits.root / "newer").exists()
    applied(edits, CreateFile(name, new, overwrite=True))
    assert path.read_bytes() == new.encode(codec)


def test_properties_get_escapes_that_every_reader_understands(edits: Edits) -> None:
    path = write(edits, "a.properties", b"a=1\n")
    applied(edits, ReplaceEdit("a.properties", "a=1", "a=é日😀"))
    assert path.read_bytes() == rb"a=\u00e9\u65e5\ud83d\ude00" + b"\n"
    path = write(edits, "b.properties", "a=caf\xe9\nb=1\n".encode("latin-1"))
    applied(edits, ReplaceEdit("b.properties", "b=1", "b=ü€"))
    assert path.read_bytes() == b"a=caf\xe9\nb=\xfc\\u20ac\n"
    path = write(edits, "c.properties", "a=café\nb=1\n".encode())
    applied(edits, ReplaceEdit("c.properties", "b=1", "b=€"))
    assert path.read_bytes() == "a=café\nb=€\n".encode()
    applied(edits, CreateFile("d.properties", "a=é\n"))
    assert (edits.root / "d.properties").read_bytes() == b"a=\\u00e9\n"


def test_editorconfig_decides_if_the_file_declares_nothing(edits: Edits) -> None:
    write(edits, ".editorconfig", b"root = true\n[*.{txt,c}]\ncharset = latin1\n[lib/**.py]\n"
          b"charset = utf-8\n[wide.txt]\ncharset = utf-16le\n")  # fmt: skip
    path = write(edits, "src/a.c", b"int a;\n")
    applied(edits, ReplaceEdit("src/a.c", "a;", "a; // é"))
    assert path.read_bytes() == b"int a; // \xe9\n"
    applied(edits, CreateFile("b.txt", "ü\n"))
    assert (edits.root / "b.txt").read_bytes() == b"\xfc\n"
    applied(edits, CreateFile("b.md", "ü\n"))
    assert (edits.root / "b.md").read_bytes() == "ü\n".encode()
    path = write(edits, "c.c", "// ü\nint a;\n".encode())
    applied(edits, ReplaceEdit("c.c", "a;", "a; // é"))
    assert path.read_bytes() == "// ü\nint a; // é\n".encode()
    assert "utf-16le" in refused(edits, CreateFile("wide.txt", "ü\n")).message
    assert "set to 'latin1'" in refused(edits, CreateFile("d.txt", "日\n")).message
    write(edits, "src/.editorconfig", b"[*.c]\ncharset = unset\n")
    applied(edits, CreateFile("src/d.c", "// 日\n"))


def test_a_character_that_the_detected_encoding_lacks_is_named(edits: Edits) -> None:
    path = write(edits, "a.c", RUSSIAN.encode("cp1251"))
    before = path.read_bytes()
    error = refused(edits, ReplaceEdit("a.c", "int b;", "int b;\n// naïve 日本"))
    assert "'ï' (U+00EF, line 2, character 6)" in error.message
    assert "windows-1251" in error.message
    assert error.hint
    assert path.read_bytes() == before


def test_a_file_in_gbk_gets_no_character_of_four_bytes(edits: Edits) -> None:
    path = write(edits, "a.c", CHINESE.encode("gbk"))
    assert "'😀' (U+1F600" in refused(edits, ReplaceEdit("a.c", "int b;", "int 😀;")).message
    path.write_bytes((CHINESE + "// 😀\n").encode("gb18030"))
    applied(edits, ReplaceEdit("a.c", "int b;", "int 😀;"))


def test_text_that_rival_encodings_write_differently_is_refused(edits: Edits) -> None:
    write(edits, "a.c", "// 価格\nint a;\n".encode("euc_jp"))
    assert "may be" in refused(edits, ReplaceEdit("a.c", "int a;", "int 値;")).message
    applied(edits, ReplaceEdit("a.c", "int a;", "int b;"))


def test_a_character_whose_bytes_are_read_as_another_is_refused(edits: Edits) -> None:
    path = write(edits, "a.py", b"# coding: shift_jis\nx = 1\n")
    assert "U+00A5" in refused(edits, ReplaceEdit("a.py", "x = 1", "x = '\xa5'")).message
    assert path.read_bytes() == b"# coding: shift_jis\nx = 1\n"


def test_a_double_byte_character_is_never_matched_by_its_second_byte(edits: Edits) -> None:
    text = "// 表示\nchar c = '\\\\';\n// ソート\n"  # 0x5C is the second byte of two of them
    path = write(edits, "a.c", text.encode("cp932"))
    applied(edits, ReplaceEdit("a.c", "\\\\", "/"))
    assert path.read_bytes() == text.replace("\\\\", "/").encode("cp932")


@pytest.mark.parametrize(
    ("codec", "odd"),
    [
        ("cp932", b"\xee\xf9"),  # another form of the character 81CA
        ("cp932", b"\x87\x9a \x81\x0a\xff"),  # and half a character at the end of a line
        ("euc_jp", b"\x8f\xb0\xa1 \x80\x81"),  # a character of three bytes, then damage
        ("gb18030", b"\x81\x30\x81\x30 \xff"),  # a character of four bytes
    ],
)
def test_unusual_and_damaged_bytes_are_kept(edits: Edits, codec: str, odd: bytes) -> None:
    text = CHINESE if codec == "gb18030" else JAPANESE
    other = "数值" if codec == "gb18030" else "値段"
    name = f"# coding: {codec}\n"
    before = name.encode() + text.encode(codec) * 9 + b"# " + odd + b"|\nlast = 1\n"
    path = write(edits, "a.py", before)
    applied(edits, ReplaceEdit("a.py", "last = 1", f"last = '{other}'"))
    after = before.replace(b"last = 1", f"last = '{other}'".encode(codec))
    assert path.read_bytes() == after
    applied(edits, ReplaceEdit("a.py", "|\nlast", "| # x\nlast"))
    assert path.read_bytes() == after.replace(b"|\n", b"| # x\n")


def test_declaration_and_text_always_agree(edits: Edits) -> None:
    path = write(edits, "a.py", b"# coding: latin-1\nx = 1\n")
    applied(edits, ReplaceEdit("a.py", "latin-1\nx = 1", "utf-8\nx = 'é'"))
    assert path.read_bytes() == "# coding: utf-8\nx = 'é'\n".encode()
    path = write(edits, "b.py", b"# coding: latin-1\nx = '\xe9'\n")
    error = refused(edits, ReplaceEdit("b.py", "latin-1", "utf-8"))
    assert "declares the encoding 'utf-8'" in error.message
    applied(edits, CreateFile("b.py", "# coding: utf-8\nx = 'é'\n", overwrite=True))
    assert path.read_bytes() == "# coding: utf-8\nx = 'é'\n".encode()
    path = write(edits, "c.html", '<meta charset="iso-8859-1">\n<p>é</p>\n<p>x</p>\n'.encode())
    proposal = applied(edits, ReplaceEdit("c.html", "x", "ü"))
    assert path.read_bytes().decode().endswith("<p>ü</p>\n")
    assert "is UTF-8" in proposal.notes[0]


@pytest.mark.parametrize(
    "label", ["utf-16", "utf-7", "x-user-defined", "no-such-encoding", "rot13"]
)
def test_an_unsupported_encoding_accepts_only_ascii(edits: Edits, label: str) -> None:
    write(edits, "a.py", f"# coding: {label}\nx = 1\n".encode())
    assert label in refused(edits, ReplaceEdit("a.py", "x = 1", "x = 'é'")).message
    applied(edits, ReplaceEdit("a.py", "x = 1", "x = 2"))


def test_overwriting_keeps_an_undeclared_encoding(edits: Edits) -> None:
    path = write(edits, "a.c", JAPANESE.encode("euc_jp"))
    applied(edits, CreateFile("a.c", "// 新しい\n", overwrite=True))
    assert path.read_bytes() == "// 新しい\n".encode("euc_jp")
    write(edits, "a.c", JAPANESE.encode("euc_jp"))
    assert "'😀'" in refused(edits, CreateFile("a.c", "// 😀\n", overwrite=True)).message


def test_a_range_shown_as_question_marks_is_not_overwritten(edits: Edits) -> None:
    write(edits, "a.c", JAPANESE.encode("cp932"))
    assert "question marks" in refused(edits, LineRangeEdit("a.c", 1, 1, "// ???????")).message
    applied(edits, LineRangeEdit("a.c", 1, 1, "// reads the settings?"[:-1]))


def test_a_range_that_splits_a_character_is_refused(edits: Edits) -> None:
    data = JAPANESE.encode("cp932")
    write(edits, "a.c", data)
    assert "does not begin a character" in refused(edits, RangeEdit("a.c", 4, 5, "x")).message
    write(edits, "b.c", JAPANESE.encode("iso2022_jp"))
    assert "does not begin a line" in refused(edits, RangeEdit("b.c", 3, 5, "x")).message


def test_a_patch_deletes_and_renames_files_in_their_encoding(edits: Edits) -> None:
    write(edits, "a.c", "// 設定を読む\n".encode("euc_jp"))
    gone = parse_patch("--- a/a.c\n+++ /dev/null\n@@ -1 +0,0 @@\n-// 設定を読む\n")
    proposal = applied(edits, *gone)
    assert "設定を読む" in unified(proposal.changes[0])
    edits.undo(proposal.id)
    assert (edits.root / "a.c").read_bytes() == "// 設定を読む\n".encode("euc_jp")
    applied(edits, DeleteFile("a.c"))


def test_hunks_are_denied_and_undone_by_bytes(edits: Edits) -> None:
    text = JAPANESE + "int c;\n" * 20 + "// 終わり\n"
    path = write(edits, "a.c", text.encode("cp932"))
    staged = edits.stage([
        ReplaceEdit("a.c", "設定", "設備"), ReplaceEdit("a.c", "終わり", "終了"),
    ])  # fmt: skip
    edits.apply(staged.id, hunks={(0, 1)})
    assert path.read_bytes() == text.replace("終わり", "終了").encode("cp932")
    path.write_bytes(path.read_bytes() + "// 私の行\n".encode("cp932"))
    edits.undo(staged.id)
    assert path.read_bytes() == (text + "// 私の行\n").encode("cp932")


@pytest.mark.parametrize(("codec", "text", "word"), LEGACY)
def test_the_encoding_of_a_short_text_is_detected(codec: str, text: str, word: str) -> None:
    found = charset_of("a.c", text.encode(codec))
    assert found.encode(word) == word.encode(codec)


WORDS = {
    "cp932": "表示する ソート 十 日本 ｱｲｳ ① a?",
    "euc_jp": "表示する ソート 十 日本 a?",
    "iso2022_jp": "表示する ソート 十 日本 a?",
    "gb18030": "读取 配置 数值 € 😀 a?",
    "big5": "讀取 設定 數值 功 a?",
    "cp949": "설정 파일을 읽는다 똠 a?",
    "cp1251": "читает настройки № a?",
    "iso8859-1": "déjà vu ÿ à a?",
    "utf-8": "é 日本 😀 a?",
}


@st.composite
def encoded_files(draw: st.DrawFn) -> tuple[str, list[str], str]:
    """An encoding, the lines of a Python file that declares it, and their end."""
    codec = draw(st.sampled_from(sorted(WORDS)))
    letters = st.sampled_from(sorted({*WORDS[codec].split(" "), "x = 1", "\\", "'"}))
    lines = draw(st.lists(st.lists(letters, max_size=4).map(" ".join), min_size=1, max_size=8))
    return codec, [f"# coding: {codec}", *lines], draw(st.sampled_from(["\n", "\r\n"]))


@given(encoded_files(), st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_other_bytes_are_kept_in_every_encoding(
    tmp_path_factory: pytest.TempPathFactory,
    file: tuple[str, list[str], str],
    draw: st.DataObject,
) -> None:
    """Stages, applies, refuses and undoes edits in any order, compared with a list of lines."""
    codec, lines, end = file
    folder = tmp_path_factory.mktemp("encodings")
    store = ProposalStore.open(folder / "proposals.db")
    root = folder / "root"
    root.mkdir()
    edits = Edits(root, store)

    def data(of: list[str]) -> bytes:
        return b"".join((line + end).encode(codec) for line in of)

    path = root / "a.py"
    path.write_bytes(data(lines))
    done: list[tuple[Proposal, list[str], list[str]]] = []
    choice = st.booleans()
    letters = "".join(WORDS.values()) + "\ufffd"
    for _ in range(draw.draw(st.integers(1, 5))):
        undo = draw.draw(choice)
        if done and undo:
            proposal, before, after = done.pop()
            if lines == after:
                edits.undo(proposal.id)
                lines = before
        at = draw.draw(st.integers(1, len(lines)))
        last = draw.draw(st.integers(at, len(lines)))
        new = [draw.draw(st.text(letters, max_size=5)) for _ in range(draw.draw(st.integers(0, 2)))]
        code = "".join(f"{line}\n" for line in new)
        try:
            proposal = edits.stage([LineRangeEdit("a.py", at + 1, last, code)])
        except EditError:
            assert path.read_bytes() == data(lines)
            continue
        if draw.draw(choice):
            assert edits.deny(proposal.id).state is ProposalState.DENIED
        else:
            edits.apply(proposal.id)
            before, lines = lines, [*lines[:at], *new, *lines[last:]]
            done.append((proposal, before, lines))
        assert path.read_bytes() == data(lines)
    store.close()


@pytest.mark.parametrize(
    ("codec", "comment", "word"),
    [
        ("cp932", "\uff83\uff7d\uff84", "開始"),
        ("cp874", "ผิดพลาด", "เริ่ม"),
        ("euc_jp", "値", "開始"),
    ],
)
def test_an_uncertain_encoding_accepts_only_ascii(
    edits: Edits, codec: str, comment: str, word: str
) -> None:
    data = f"int x; // {comment}\nint y;\n".encode(codec)
    path = write(edits, "a.c", data)
    refused(edits, ReplaceEdit("a.c", "int y;", f"int y; // {word}"))
    applied(edits, ReplaceEdit("a.c", "int y;", "int z;"))
    assert path.read_bytes() == data.replace(b"y", b"z")


def test_a_message_catalogue_may_declare_its_encoding_in_one_line(edits: Edits) -> None:
    head = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=ISO-8859-2\\n"\n\n'
    source = f'{head}msgid "a"\nmsgstr "zażółć"\n'
    path = write(edits, "a.po", source.encode("iso8859-2"))
    applied(edits, ReplaceEdit("a.po", "zażółć", "gęślą"))
    assert path.read_bytes() == source.replace("zażółć", "gęślą").encode("iso8859-2")
