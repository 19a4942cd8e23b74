"""Every line with a word of an indexed file is in an item or a chunk, and can be found."""

import json
import re
from pathlib import Path

import pytest

from tests.foreign.samples import ForeignFile, installed_files, sample_files
from treadle.code import CodeIndex
from treadle.code.languages import Outline, language_of
from treadle.code.model import Item, Kind
from treadle.code.parse.content import Content, read_content
from treadle.code.parse.file import parse_file

_WORD = re.compile(rb"[A-Za-z0-9\x80-\xff]")


def items_of(path: str, text: str) -> dict[str, Kind]:
    data = text.encode()
    content = read_content(path, data, language_of(path, data))
    return {entry.item.canonical_path: entry.item.kind for entry in content.items}


def unfindable(data: bytes, content: Content) -> list[int]:
    """The lines with a word that no item holds, the file itself not counted."""
    whole = content.items[-1].item if content.items else None
    covered: set[int] = set()
    for item, _ in content.items:
        if item is whole and item.kind is Kind.MODULE:
            covered.update(_lines(data, item.signature_start, item.signature_end))
        else:
            covered.update(range(item.start_line, item.end_line + 1))
    return [
        number
        for number, line in enumerate(data.split(b"\n"), start=1)
        if _WORD.search(line) and number not in covered
    ]


def _lines(data: bytes, start: int, end: int) -> range:
    first = data.count(b"\n", 0, start) + 1
    return range(first, first + data.count(b"\n", start, end) + 1)


def check_findable(file: ForeignFile) -> None:
    parsed = parse_file(file.root, file.path)
    data = file.read()
    language = language_of(file.path, data)
    if parsed.skipped or (isinstance(language, Outline) and not language.index_rest):
        return
    assert unfindable(data, read_content(file.path, data, language)) == [], str(file)


def test_every_line_of_installed_files_is_findable(foreign_seed: int) -> None:
    for file in installed_files(foreign_seed, 30):
        check_findable(file)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_line_of_foreign_files_is_findable(foreign_seed: int) -> None:
    for file in sample_files(foreign_seed, 600):
        check_findable(file)


@pytest.mark.parametrize(
    ("path", "text", "query"),
    [
        ("app.py", "import fastapi\n\napp.include_router(gizmo)\n", "gizmo"),
        ("app.py", "def f():\n    pass\n\n\nf()  # zebra\n", "zebra"),
        ("app.py", "LIMIT = 3  # giraffes at most\n", "giraffes"),
        ("app.py", "from walrus import tusk\n", "walrus"),
        ("app.js", "router.get('/gizmo', show);\n\nfunction show() {}\n", "gizmo"),
        ("app.js", "const a = 1; // the zebra\n\nfunction show() {}\n", "zebra"),
        ("app.go", 'package main\n\nimport "a/gizmo"\n\nfunc main() {}\n', "gizmo"),
        ("app.c", "int gizmo;\n\nint main(void) { return 0; }\n", "gizmo"),
        ("app.rb", "require 'gizmo'\n\ndef run; end\n", "gizmo"),
        ("app.rs", "use zebra::stripe;\nfn main() {}\n", "stripe"),
        ("app.java", "package gizmo.zebra;\nclass A {} // walrus\n", "walrus"),
        ("app.css", "a { color: gizmo }\n", "gizmo"),
    ],
)
def test_short_statement_or_comment_is_found(
    tmp_path: Path, path: str, text: str, query: str
) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / path).write_text(text)
    (tmp_path / "root" / "other.py").write_text("def unrelated():\n    return 1\n")
    with CodeIndex.open(tmp_path / "root", cache_dir=tmp_path / "cache") as index:
        index.refresh()
        found = index.search(query).results
    line = text[: text.index(query)].count("\n") + 1
    assert [hit.file for hit in found] == [path]
    assert found[0].start_line <= line <= found[0].end_line


def test_javascript_names_are_items() -> None:
    found = items_of(
        "ui/panel.tsx",
        """
export default function () { return 1; }
export const { first, second: renamed, third = 3 } = make();
export const [left, right] = pair();
const MAX = 10, MIN = 1;
function Panel() {
  const click = useCallback(() => { go(); }, []);
  const plain = (x) => x + 1;
  const total = items.map((x) => x);
  return <b onClick={click} />;
}
const Memo = React.memo(function Inner() { return null; });
export const Input = forwardRef<A, B>((props, ref) => null);
const api = { get() {}, put: (x) => x, users: { list() {}, "by-id": function () {} } };
""",
    )
    assert found["ui/panel.default"] is Kind.FUNCTION
    assert found["ui/panel.Panel.click"] is Kind.FUNCTION
    assert found["ui/panel.Panel.plain"] is Kind.FUNCTION
    assert found["ui/panel.Memo"] is Kind.FUNCTION
    assert found["ui/panel.Input"] is Kind.FUNCTION
    assert "ui/panel.Panel.total" not in found
    for name in ("first", "renamed", "third", "left", "right", "MAX", "MIN"):
        assert found[f"ui/panel.{name}"] is Kind.CONSTANT
    for name in ("get", "put", "users.list", "users.by-id"):
        assert found[f"ui/panel.api.{name}"] is Kind.METHOD


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("export default () => 1;\n", Kind.FUNCTION),
        ("export default async function* () {}\n", Kind.FUNCTION),
        ("export default class extends Base { run() {} }\n", Kind.CLASS),
        ("export default memo(() => null);\n", Kind.FUNCTION),
        ("export default { data() { return 1; } };\n", Kind.CONSTANT),
        ("export default defineConfig({ run() {} });\n", Kind.CONSTANT),
    ],
)
def test_default_export_without_a_name_is_an_item(text: str, kind: Kind) -> None:
    assert items_of("a.js", text)["a.default"] is kind


def test_default_export_without_a_name_has_callers(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "lib.ts").write_text("export default function () { return 1; }\n")
    (tmp_path / "root" / "use.ts").write_text(
        "import helper from './lib';\nexport function run() { return helper(); }\n"
    )
    with CodeIndex.open(tmp_path / "root", cache_dir=tmp_path / "cache") as index:
        index.refresh()
        run = index.lookup("run").items[0]
        targets = {edge.target.canonical_path for edge in index.edges(run.id).edges if edge.target}
    assert "lib.default" in targets


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (
            "m.py",
            "a, b = 1, 2\n(c, d) = 3, 4\n[e, f] = g\nh = i = 5\n",
            "m.a m.b m.c m.d m.e m.h m.i",
        ),
        (
            "m.py",
            "@dataclass\nclass P:\n    x: int\n    y: str = 's'\n    z = 1\n    u, v = 1, 2\n",
            "m.P.x m.P.y m.P.z m.P.u m.P.v",
        ),
        ("E.java", "enum E { RED(1) { void f() {} }, GREEN }\n", "E.RED E.GREEN E.RED.f"),
        ("K.java", "class K { final int A = 1, B = 2; }\n", "K.A K.B"),
        (
            "K.cs",
            "enum E { Red = 1, Green } class K { const int A = 1, B = 2; }\n",
            "E.Red E.Green K.A K.B",
        ),
        ("k.kt", "enum class E(val x: Int) { RED(1), GREEN(2) }\n", "E.RED E.GREEN"),
        (
            "k.swift",
            "enum E { case red, green\n case blue(Int) }\nlet a = 1, b = 2\n",
            "E.red E.green E.blue a b",
        ),
        (
            "src/k.rs",
            "enum E { Red, Green(u8), Blue { x: u8 } }\n",
            "crate::k::E::Red crate::k::E::Blue",
        ),
        ("k.php", "<?php\nenum E { case Red; const X = 1, Y = 2; }\n", "E::Red E::X E::Y"),
        (
            "k.go",
            "package k\nvar x, y int\nconst c, d = 1, 2\nvar (\n\tm, n string\n)\n",
            "k.x k.y k.c k.d k.m k.n",
        ),
        ("k.c", "int f(void), g(void), *h(int);\nconst int A = 1, B = 2;\n", "f g h A B"),
        (
            "k.c",
            "typedef struct S { int x; } S, *PS;\nenum E { RED, GREEN = 2 };\n",
            "S PS E::RED E::GREEN",
        ),
        ("k.cc", "namespace n { const int A = 1, B = 2; }\n", "n::A n::B"),
        (
            "k.ts",
            "enum Color { Red, Green = 2 }\nvar a = 1, b = 2;\n",
            "k.Color.Red k.Color.Green k.a k.b",
        ),
        ("k.rb", "A, B = 1, 2\n", "A B"),
    ],
)
def test_names_of_one_declaration_and_members_are_items(
    path: str, text: str, expected: str
) -> None:
    found = items_of(path, text)
    assert [name for name in expected.split() if name not in found] == []
    assert not [name for name in found if name.endswith((".A.B", "::A::B", ".x.y"))]


def test_class_is_found_by_the_names_of_its_fields(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "m.py").write_text(
        "class Order:\n    zebra: int\n    walrus: str\n\n\nclass Other:\n    zebra: int\n"
    )
    with CodeIndex.open(tmp_path / "root", cache_dir=tmp_path / "cache") as index:
        index.refresh()
        names = [hit.canonical_path for hit in index.search("zebra walrus").results]
    assert "m.Order" in names


def cell(kind: str, source: object, **others: object) -> dict[str, object]:
    return {"cell_type": kind, "metadata": {"source": "hidden"}, "source": source, **others}


def write_notebook(path: Path, *cells: object, **top: object) -> bytes:
    path.parent.mkdir(exist_ok=True)
    data = json.dumps({"cells": cells, "nbformat": 4, **top}, indent=1).encode()
    path.write_bytes(data)
    return data


def test_notebook_is_found_by_its_cells_and_never_by_its_outputs(tmp_path: Path) -> None:
    picture = "iVBORw0KGgo" + "zebraAAAA" * 300_000
    output = {"output_type": "display_data", "data": {"image/png": picture, "text/plain": "walrus"}}
    data = write_notebook(
        tmp_path / "root" / "plot.ipynb",
        cell("markdown", ["# Load the gizmo\n", "Some text.\n"]),
        cell("code", ['import pandas as pd\nplot("caf\u00e9")\n'], outputs=[output]),
        cell("code", "train(model)", outputs=[{"text": ["walrus"], "source": ["walrus"]}]),
    )
    assert len(data) > 2_000_000
    with CodeIndex.open(tmp_path / "root", cache_dir=tmp_path / "cache") as index:
        report = index.refresh()
        assert report.skipped == {}
        assert index.search("walrus").results == ()
        assert index.search("zebraAAAA").results == ()
        assert index.search("hidden").results == ()
        assert index.search("gizmo").results[0].name == "Load the gizmo"
        for query in ("pandas", "café", "train model"):
            hit = index.search(query).results[0]
            assert (
                query.split()[0].encode("unicode_escape").replace(b"\\x", b"\\u00")
                in data[hit.start_byte : hit.end_byte]
            )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"cells": [{"source": ["import gizmo\\n"',
        '{"cells": {"source": "gizmo"}}',
        "not JSON, gizmo",
        '{"worksheets": [{"cells": [{"input": "import gizmo", "outputs": [{"png": "AAAA"}]}]}]}',
        "[" * 50_000,
        '{"cells": [' + '{"source": ["x"]},' * 3_000,
    ],
)
def test_malformed_or_old_notebook_is_read(text: str) -> None:
    data = text.encode()
    content = read_content("a.ipynb", data, language_of("a.ipynb"))
    found: list[Item] = [entry.item for entry in content.items]
    assert all(0 <= item.start_byte < item.end_byte <= len(data) for item in found)
    if "worksheets" in text:
        assert [data[item.start_byte : item.end_byte] for item in found] == [b'"import gizmo"']
