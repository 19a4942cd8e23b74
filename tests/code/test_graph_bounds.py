"""Every walk of the graph ends: cycles of bases, imports and re-exports, deep chains, wide fans."""

import random
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from treadle.code import CodeIndex
from treadle.code.graph.language_rules import SELF_NAMES
from treadle.code.languages import LANGUAGES

Files = Mapping[str, str]


def search_everything(tmp_path: Path, files: Files) -> dict[str, set[str | None]]:
    """Search for, ask for context of, and walk from every item; the targets of each item."""
    for name, content in files.items():
        place = tmp_path / "root" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)
    targets: dict[str, set[str | None]] = {}
    with CodeIndex.open(tmp_path / "root", cache_dir=tmp_path / "cache") as index:
        index.refresh()
        for query in ("what uses X", "what calls run", "run the thing in X", "X.run"):
            index.search(query)
            index.context(query, top_k=5, fits=lambda _entries, _omitted: True)
        for name in ("X", "Y", "C0", "C1", "run", "helper", "a", "b", "m0"):
            for item in index.lookup(name, limit=4).items:
                edges = index.edges(item.id, depth=2).edges
                found = {edge.target.canonical_path if edge.target else None for edge in edges}
                targets.setdefault(item.canonical_path, set()).update(found)
    return targets


@pytest.mark.parametrize(
    "base", ["base", "base.Y", "super", "super.Y", "self", "X", "X.Y", "cls.Y"]
)
def test_python_base_with_the_name_of_a_keyword_is_found(tmp_path: Path, base: str) -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/base.py": "class Y:\n    def run(self):\n        pass\n",
        "pkg/x.py": (
            f"from pkg import base\nfrom pkg.base import Y\n\n\nclass X({base}):\n"
            "    def run(self):\n        return self.helper()\n"
        ),
    }
    targets = search_everything(tmp_path, files)
    if base == "base.Y":
        assert "pkg.base.Y" in targets["pkg.x.X"]
        assert "pkg.base.Y.run" in targets["pkg.x.X.run"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.php", "<?php\nclass X extends parent { use parent; function run() {} }\n"),
        ("a.php", "<?php\nclass X extends static { function run() { parent::run(); } }\n"),
        ("A.cs", "class X : base { void run() { base.run(); } }\n"),
        ("A.cs", "class X : X.Y { class Y : X { } void run() { } }\n"),
        ("A.java", "class X extends Y { void run() {} class Y extends X {} }\n"),
        ("A.java", "class X extends X { void run() { super.run(); } }\n"),
        ("a.kt", "class X : X.Y() { open class Y : X() { fun run() {} } }\n"),
        ("a.ts", "class X extends X { run() { super.run(); } }\nexport * from './a';\n"),
        ("a.rb", "class X < X\n  include X\n  def run; end\nend\n"),
        ("a.swift", "class X: X.Y { class Y: X { func run() {} } }\n"),
        ("a.cc", "struct X : X::Y { struct Y : X { void run(); }; };\n"),
        ("a.go", "package a\ntype X struct { Y }\ntype Y struct { X }\nfunc (x X) run() {}\n"),
        (
            "src/lib.rs",
            "pub use self::X as Y;\npub use self::Y as X;\nimpl X for X { fn run() {} }\n",
        ),
        (
            "src/lib.rs",
            "mod a { pub use super::b::*; }\nmod b { pub use super::a::*; fn run() {} }\n",
        ),
    ],
)
def test_a_type_that_inherits_from_itself_is_resolved(tmp_path: Path, name: str, text: str) -> None:
    search_everything(tmp_path, {name: text})


def test_circular_inheritance_is_resolved(tmp_path: Path) -> None:
    classes = "".join(
        f"class C{at}(C{(at + 1) % 40}):\n    def m{at}(self):\n        self.m0()\n"
        for at in range(40)
    )
    search_everything(tmp_path, {"circle.py": classes})


def test_long_chain_of_bases_that_inherit_their_bases_ends(tmp_path: Path) -> None:
    classes = "".join(f"class C{at}(C{at + 1}.Inner):\n    pass\n" for at in range(300))
    search_everything(tmp_path, {"chain.py": classes})


def test_wide_inheritance_is_resolved_in_polynomial_time(tmp_path: Path) -> None:
    width, layers = 6, 12
    text = "".join(f"class L{layers}_{at}:\n    pass\n" for at in range(width))
    for layer in reversed(range(layers)):
        bases = ", ".join(f"L{layer + 1}_{at}" for at in range(width))
        text += "".join(f"class L{layer}_{at}({bases}):\n    pass\n" for at in range(width))
    text += "class X(L0_0):\n    def run(self):\n        self.nowhere()\n"
    search_everything(tmp_path, {"wide.py": text})


@pytest.mark.parametrize(
    ("suffix", "line"),
    [
        (".ts", "export * from './m{}';\n"),
        (".py", "from .m{} import *\n"),
    ],
)
def test_net_of_re_exports_is_resolved_in_polynomial_time(
    tmp_path: Path, suffix: str, line: str
) -> None:
    names = range(12)
    files = {f"m{at}{suffix}": "".join(map(line.format, names)) for at in names}
    files["__init__.py"] = ""
    files[f"use{suffix}"] = (
        "from .m0 import X\ndef run():\n    X.run()\n"
        if suffix == ".py"
        else "import { X } from './m0';\nexport function run() { X.run(); }\n"
    )
    search_everything(tmp_path, files)


def test_long_chain_of_re_exports_ends(tmp_path: Path) -> None:
    files = {f"m{at}.ts": f"export {{ X }} from './m{at + 1}';\n" for at in range(500)}
    files["use.ts"] = "import { X } from './m0';\nexport function run() { X.run(); }\n"
    search_everything(tmp_path, files)


def test_modules_in_deep_folders_end(tmp_path: Path) -> None:
    folder = "/".join(["d"] * 400)
    search_everything(
        tmp_path,
        {
            "src/lib.rs": "mod d;\n",
            f"src/{folder}/x.rs": "use super::super::X;\nfn run() { super::super::a(); }\n",
        },
    )


_TEMPLATES: Mapping[str, Callable[[random.Random], str]] = {
    ".py": lambda rng: (
        f"from {_dots(rng)}{_name(rng)} import {_any(rng)}\nimport {_name(rng)}\n"
        f"class {_type(rng)}({_path(rng)}, {_path(rng)}):\n"
        f"    def run(self):\n        {_path(rng)}.run()\n        super().run()\n"
    ),
    ".ts": lambda rng: (
        f"import {{ {_type(rng)} }} from './{_name(rng)}';\nexport * from './{_name(rng)}';\n"
        f"export {{ {_type(rng)} as {_type(rng)} }} from './{_name(rng)}';\n"
        f"export class {_type(rng)} extends {_path(rng)} {{ run() {{ this.run(); }} }}\n"
    ),
    ".rs": lambda rng: (
        f"pub use super::{_name(rng)}::*;\npub use crate::{_name(rng)}::{_type(rng)};\n"
        f"mod {_name(rng)} {{ pub use super::*; }}\n"
        f"impl {_type(rng)} for {_type(rng)} {{ fn run(&self) {{ Self::run(); }} }}\n"
    ),
    ".java": lambda rng: (
        f"package {_name(rng)};\nimport {_name(rng)}.{_any(rng)};\n"
        f"class {_type(rng)} extends {_path(rng)} {{ class {_type(rng)} extends {_type(rng)} {{}}\n"
        f"  void run() {{ {_path(rng)}.run(); }} }}\n"
    ),
}  # fmt: skip


def _name(rng: random.Random) -> str:
    return rng.choice(["a", "b", "base", "self", "super"])


def _type(rng: random.Random) -> str:
    return rng.choice(["X", "Y", "C0"])


def _any(rng: random.Random) -> str:
    return rng.choice(["*", "X", "Y", "C0"])


def _path(rng: random.Random) -> str:
    return ".".join(rng.choice([_name, _type])(rng) for _ in range(rng.randint(1, 3)))


def _dots(rng: random.Random) -> str:
    return rng.choice(["", ".", ".."])


@pytest.mark.parametrize("suffix", _TEMPLATES)
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_random_names_are_resolved(tmp_path: Path, suffix: str, seed: int) -> None:
    rng = random.Random(seed)
    files = {
        f"{folder}{name}{suffix}": "".join(_TEMPLATES[suffix](rng) for _ in range(3))
        for folder in ("", "a/")
        for name in ("a", "b", "base", "lib", "__init__")
    }
    search_everything(tmp_path, files)


def test_self_names_equal_those_of_the_languages() -> None:
    assert {
        language.name: language.self_names for language in LANGUAGES if language.self_names
    } == SELF_NAMES
