"""Edits of items by their name: exact, or refused with advice."""

import os

import pytest

from tests.toolbox.edit_bench import Bench
from treadle.code.sandbox import processes, workers
from treadle.code.syntax import problems
from treadle.code.syntax.check import broken
from treadle.events.types import ErrorKind


def _edited(bench: Bench, name: str, source: str, item: str, code: str) -> str:
    bench.write(name, source)
    bench.edit({"file": name, "item": {"canonical_path": item, "code": code}})
    return bench.read(name).decode()


def _refusal(bench: Bench, name: str, source: str, item: str, code: str) -> str:
    """The warnings that a model reads; nothing is written or staged."""
    bench.write(name, source)
    failure = bench.refused({"file": name, "item": {"canonical_path": item, "code": code}})
    assert bench.read(name).decode() == source
    assert bench.states() == []
    assert failure.hint is not None
    return f"{failure.message} {failure.hint}"


@pytest.mark.parametrize(
    ("name", "source", "item", "old", "new"),
    [
        (
            "main.py", "import os\n\nX = 1\n\n\ndef main():\n    return 1\n", "main",
            "def main():\n    return 1\n", "def main():\n    return 2\n",
        ),
        (
            "Button.tsx", "import x from 'x';\nexport function Button() { return 1 }\nlet a = 1;\n",
            "Button", "export function Button() { return 1 }",
            "export function Button() { return 2 }",
        ),
        (
            "src/lib.rs", "use a::b;\nfn lib() -> u8 { 1 }\n", "lib", "fn lib() -> u8 { 1 }",
            "fn lib() -> u8 { 2 }",
        ),
        (
            "run.sh", "#!/bin/sh\nset -e\nrun() {\n  true\n}\nrun\n", "run", "run() {\n  true\n}",
            "run() {\n  false\n}",
        ),
        (
            "guide.md", "Words before.\n\n# guide\n\nOld.\n\n## Install\n\nRun it.\n", "guide",
            "# guide\n\nOld.", "# guide\n\nNew.",
        ),
    ],
)  # fmt: skip
def test_an_item_with_the_name_of_its_file_is_edited_alone(
    bench: Bench, name: str, source: str, item: str, old: str, new: str
) -> None:
    assert _edited(bench, name, source, item, new) == source.replace(old, new)


def test_deleting_an_item_with_the_name_of_its_file_keeps_the_file(bench: Bench) -> None:
    source = "import os\n\nA = 1\n\n\ndef a():\n    pass\n"
    assert _edited(bench, "a.py", source, "a.a", "") == "import os\n\nA = 1\n\n\n\n"


@pytest.mark.parametrize(
    ("name", "source", "item"),
    [
        ("main.py", "print(1)\n", "main"),
        ("pkg/tools.py", "def f():\n    pass\n", "pkg.tools"),
        ("Button.tsx", "export const other = 1;\n", "Button"),
        ("notes.md", "# Title\n\nText.\n", "notes.md"),
        ("plain.txt", "some\ntext\n", "plain"),
        ("plain.txt", "some\ntext\n", "plain.txt:1-2"),
    ],
)
def test_a_file_is_never_replaced_as_an_item(
    bench: Bench, name: str, source: str, item: str
) -> None:
    for code in ("x = 1\n", ""):
        said = _refusal(bench, name, source, item, code)
        assert "replace" in said or "There is no item" in said


def test_the_refusal_of_a_file_names_create_file(bench: Bench) -> None:
    said = _refusal(bench, "main.py", "print(1)\n", "main", "print(2)\n")
    assert "'main' is the whole file main.py" in said
    assert "create_file" in said
    assert "overwrite" in said


LICENCE = "# Copyright 2020 Somebody.\n# All rights reserved, and so on,\n# over several lines.\n"


@pytest.mark.parametrize(
    ("name", "header", "function", "new"),
    [
        ("a.py", "#!/usr/bin/env python3\n", "def f():\n    pass", "def f():\n    return 1"),
        ("a.py", "# -*- coding: utf-8 -*-\n", "def f():\n    pass", "# New.\ndef f():\n    return"),
        ("a.py", LICENCE, "def f():\n    pass", "# New.\ndef f():\n    return 1"),
        ("a.py", "# pylint: disable=all\n", "class A:\n    x = 1", "# New.\nclass A:\n    y = 1"),
        ("a.rb", "# frozen_string_literal: true\n", "def f\nend", "# New.\ndef f\n  1\nend"),
        ("a.rs", "// SPDX-License-Identifier: MIT\n", "fn f() {}", "/// New.\nfn f() { g() }"),
        ("a.js", "/* eslint-disable */\n", "function f() {}", "/** New. */\nfunction f() { g() }"),
        ("a.ts", "// @ts-nocheck\n", "function f() {}", "// New.\nfunction f() { g() }"),
        ("a.ts", "/**\n * @license MIT\n */\n", "function f() {}", "/** N */\nfunction f() { g }"),
        ("a.c", "/* Copyright (c) 1999 Me */\n", "int f(void) { return 1; }", "int f(void) {}"),
        ("a.php", "<?php\n// Licensed under MIT\n", "function f() {}", "// N\nfunction f() { g; }"),
        ("a.sh", "#!/bin/bash\n# shellcheck disable=SC1\n", "f() {\n  a\n}", "# N\nf() {\n  b\n}"),
        ("A.java", "/* Copyright Me */\n", "class A {}", "/** New. */\nclass A { int x; }"),
        ("a.kt", "// Copyright Me\n", "fun f() {}", "// New.\nfun f() { g() }"),
        ("a.swift", "// swiftlint:disable all\n", "func f() {}", "// New.\nfunc f() { g() }"),
        ("a.toml", "# Copyright Me\n", "[a]\nx = 1", "# New.\n[a]\nx = 2"),
    ],
)  # fmt: skip
def test_header_lines_above_an_item_belong_to_the_file(
    bench: Bench, name: str, header: str, function: str, new: str
) -> None:
    item = "A" if "class A" in function else "a" if name == "a.toml" else "f"
    source = f"{header}{function}\n"
    assert _edited(bench, name, source, item, new) == f"{header}{new}\n"
    assert _edited(bench, name, source, item, "") == f"{header}\n"


def test_header_lines_that_the_code_repeats_are_not_doubled(bench: Bench) -> None:
    source = "#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\ndef f():\n    pass\n"
    new = source.replace("pass", "return 1")
    assert _edited(bench, "a.py", source, "f", new) == new


@pytest.mark.parametrize(
    ("name", "comment", "old", "new"),
    [
        ("a.py", "# Why.\n", "def f():\n    pass", "def f():\n    return 1"),
        ("a.py", "# Why.\n", "@cached\ndef f():\n    pass", "@cached\ndef f():\n    return 1"),
        ("a.js", "// Why.\n", "/** Doc. */\nfunction f() {}", "/** D. */\nfunction f() { g() }"),
        ("a.c", "/* Why. */\n", "int f(void) { return 1; }", "int f(void) { return 2; }"),
        ("a.rs", "// Why.\n", "#[inline]\nfn f() {}", "#[inline]\nfn f() { g() }"),
        ("a.go", "// f does.\n", "func f() {}", "func f() { g() }"),
        ("a.rb", "# Why.\n", "def f\nend", "def f\n  1\nend"),
        ("a.yaml", "# Why.\n", "f:\n  - 1", "f:\n  - 2"),
    ],
)
def test_a_comment_above_an_item_stays_unless_the_code_has_one(
    bench: Bench, name: str, comment: str, old: str, new: str
) -> None:
    before = {"a.go": "package a\n\n", "a.yaml": "e: 1\n", "a.c": "int x;\n\n"}.get(
        name, "x = 1\n\n"
    )
    source = f"{before}{comment}{old}\n"
    item = "f"
    bench.write(name, source)
    told = bench.edit({"file": name, "item": {"canonical_path": item, "code": new}})
    assert bench.read(name).decode() == f"{before}{comment}{new}\n"
    assert any("was kept" in warning for warning in told["warnings"])
    own = comment.replace("Why", "New").replace("f does", "f did")
    assert _edited(bench, name, source, item, f"{own}{new}") == f"{before}{own}{new}\n"


@pytest.mark.parametrize(
    "source",
    [
        "int f(void)\nBEGIN\n  return 1;\nEND\n\nint g(void)\n{\n  return 2;\n}\n\nint h;\n",
        "DEFINE_THING(foo)\nstatic int f(void)\n{\n  return 1;\n}\n\nint g;\n",
        "#ifdef A\nint f(int a) {\n#else\nint f(void) {\n#endif\n  return 1;\n}\nint g;\n",
        "int f(void) {\n#ifdef X\n  if (a) {\n#else\n  if (b) {\n#endif\n  }\n}\nint g;\n",
    ],
)
@pytest.mark.parametrize("code", ["int f(void) { return 3; }", ""])
def test_an_item_with_code_that_the_grammar_does_not_understand_is_refused(
    bench: Bench, source: str, code: str
) -> None:
    bench.write("a.c", source)
    failure = bench.refused({"file": "a.c", "item": {"canonical_path": "f", "code": code}})
    assert failure.kind in {ErrorKind.VALIDATION, ErrorKind.NOT_FOUND}
    assert bench.read("a.c").decode() == source


@pytest.mark.parametrize(
    ("name", "source", "item", "code", "expected"),
    [
        ("a.js", "const MAX = 10, MIN = 1;\n", "MAX", "", "const MIN = 1;\n"),
        ("a.js", "const MAX = 10, MIN = 1;\n", "MIN", "", "const MAX = 10;\n"),
        ("a.js", "const MAX = 10, MIN = 1;\n", "MAX", "MAX = 20", "const MAX = 20, MIN = 1;\n"),
        ("a.js", "const MAX = 1, MIN = 1;\n", "MAX", "const MAX = 2;", "const MAX = 2, MIN = 1;\n"),
        (
            "a.ts", "export let a: T = f(1, 2), b = 3;\n", "a", "export let a: T = g(3), b = 3;",
            "export let a: T = g(3), b = 3;\n",
        ),
        ("a.go", "package a\n\nvar x, y int\n", "x", "", "package a\n\nvar y int\n"),
        ("a.c", "int f(void), g(void);\n", "f", "", "int g(void);\n"),
        ("a.c", "int f(void), g(void);\n", "f", "int f(int);", "int f(int), g(void);\n"),
        (
            "A.java", "class A {\n  static final int X = 1, Y = 2;\n}\n", "X",
            "static final int X = 5;", "class A {\n  static final int X = 5, Y = 2;\n}\n",
        ),
        ("a.php", "<?php\nconst A = 1, B = 2;\n", "A", "", "<?php\nconst B = 2;\n"),
        ("a.py", "a = b = 3\n", "a.a", "", "b = 3\n"),
        ("a.py", "a = 1; b = 2\n", "a.a", "", "b = 2\n"),
        ("a.sh", "readonly A=1 B=2\n", "A", "", "readonly B=2\n"),
        ("a.json", '{\n  "a": 1,\n  "b": 2\n}\n', "b", "", '{\n  "a": 1\n}\n'),
        ("a.json", '{"a": 1, "b": 2}\n', "a", "", '{"b": 2}\n'),
        ("a.json", '{"a": 1, "b": 2}\n', "a", '"a": [3],', '{"a": [3], "b": 2}\n'),
    ],
)  # fmt: skip
def test_one_name_of_a_declaration_is_edited_alone(
    bench: Bench, name: str, source: str, item: str, code: str, expected: str
) -> None:
    assert _edited(bench, name, source, item, code) == expected


@pytest.mark.parametrize(
    ("name", "source", "item", "code"),
    [
        ("a.go", "package a\n\nvar x, y = 1, 2\n", "x", ""),
        ("a.go", "package a\n\nvar x, y int\n", "x", "var x string"),
        ("a.js", "const MAX = 10, MIN = 1;\n", "MAX", "const MAX = 20, MIN = 2;"),
        ("a.js", "const MAX = 10, MIN = 1;\n", "MAX", "let MAX = 20;"),
        ("a.py", "a = b = 3\n", "a.a", "a = 4"),
    ],
)
def test_a_name_that_cannot_be_changed_alone_is_refused(
    bench: Bench, name: str, source: str, item: str, code: str
) -> None:
    assert "replace" in _refusal(bench, name, source, item, code)


def test_an_edit_that_would_change_another_item_names_it(bench: Bench) -> None:
    source = "# A\n\nOne.\n\n## B\n\nTwo.\n\n## C\n\nThree.\n"
    said = _refusal(bench, "a.md", source, "B", "# B\n\nNow on top.")
    assert "a.md > A > C" in said or "a.md > A (lines" in said


def test_the_character_after_an_item_is_not_doubled(bench: Bench) -> None:
    source = "class A { int x; };\nclass B { int y; };\n"
    assert _edited(bench, "a.cpp", source, "A", "class A { int z; };") == source.replace("x", "z")
    assert _edited(bench, "a.cpp", source, "A", "") == "\nclass B { int y; };\n"


def test_the_only_title_of_a_document_is_not_removed_with_all_below_it(bench: Bench) -> None:
    source = "# Title\n\n## One\n\nText.\n\n## Two\n\nText.\n"
    assert "delete_file" in _refusal(bench, "a.md", source, "Title", "")


_BROKEN = [
    ("a.py", "class A:\n    def m(self):\n        pass\n", {"item": ("A.m", "")}),
    ("a.py", "def f():\n    return 1\n", {"replace": ("    return 1", "  x = 1\n   return 1")}),
    ("a.py", "if a:\n        b()\n", {"replace": ("        b()", "        b()\n\tc()")}),
    ("a.py", "def f():\n    return 1\n", {"replace": ("return 1", "return (1")}),
    ("a.py", "def f():\n    return 1\n\n\nx = 1\n", {"replace": ("x = 1", "return 1")}),
    ("a.py", "def f():\n    return 1\n\n\ndef g():\n    pass\n", {"item": ("f", "def f():\n")}),
    ("a.js", "function f() {\n  return 1;\n}\n", {"replace": ("return 1;", "return (1;")}),
    ("a.c", "int f(void) {\n  return 1;\n}\n", {"replace": ("return 1;\n}", "return 1;\n")}),
    ("a.json", '{"a": 1}\n', {"replace": ("1", "1,")}),
    ("a.toml", "a = 1\n", {"replace": ("1", "")}),
]


@pytest.mark.parametrize(("name", "source", "how"), _BROKEN)
def test_a_newly_broken_file_is_a_warning_on_the_proposal(
    bench: Bench, name: str, source: str, how: dict[str, tuple[str, str]]
) -> None:
    bench.write(name, source)
    bench.person = None
    if "item" in how:
        edit = {"canonical_path": how["item"][0], "code": how["item"][1]}
        result = bench.edit({"file": name, "item": edit})
    else:
        old, new = how["replace"]
        result = bench.edit({"file": name, "replace": {"old": old, "new": new}})
    (kept,) = bench.edits.list()
    assert kept.warnings
    assert f"{name} has new syntax errors at line" in kept.warnings[0]
    assert kept.warnings[0] in result["warnings"]


def test_a_file_that_was_broken_before_is_not_reported(bench: Bench) -> None:
    bench.write("a.py", "print 'python 2'\n\n\ndef f():\n    print 'x'\n")
    result = bench.edit({"file": "a.py", "replace": {"old": "'x'", "new": "'y'"}})
    assert result["warnings"] == [text for text in result["warnings"] if "syntax" not in text]


def test_python_that_exhausts_its_compiler_is_examined_by_the_grammar(bench: Bench) -> None:
    bench.write("a.py", "x = 1\n")
    deep = "-" * 200_000 + "1"
    result = bench.edit({"file": "a.py", "replace": {"old": "1", "new": deep}})
    assert result["state"] == "applied"
    assert not (bench.root / "__pycache__").exists()


def test_warnings_ignore_denied_hunks(bench: Bench) -> None:
    lines = [f"a{number} = {number}\n" for number in range(40)]
    bench.write("a.py", "".join(lines))
    bench.person = None
    bench.edit(
        {"file": "a.py", "replace": {"old": "a1 = 1\n", "new": "a1 = (\n"}},
        {"file": "a.py", "replace": {"old": "a39 = 39", "new": "a39 = 40"}},
    )
    (staged,) = bench.edits.list()
    assert staged.warnings
    examining = bench.edits.with_examiner(broken)
    assert examining.deny(staged.id, hunks=[(0, 0)]).warnings == ()


@pytest.mark.parametrize(
    ("name", "source", "item", "code", "expected"),
    [
        (  # members after the last constant are not part of it
            "A.java", "enum E {\n  A(1), B(2);\n  int x;\n}\n", "B", "",
            "enum E {\n  A(1);\n  int x;\n}\n",
        ),
        (
            "a.kt", "enum class E {\n  A, // one\n  B;\n  fun f() = 1\n}\n", "B", "",
            "enum class E {\n  A // one\n  ;\n  fun f() = 1\n}\n",
        ),
        ("a.swift", "enum E {\n  case a, b, c\n}\n", "b", "", "enum E {\n  case a, c\n}\n"),
        (
            "a.js", "const o = {\n  a() { return 1; },\n  // About b.\n  b: () => 2,\n};\n",
            "o.a", "",
            "const o = {\n  \n  // About b.\n  b: () => 2,\n};\n",
        ),
        (  # the text of a heredoc belongs to its constant
            "a.rb", "X = <<HTML\nold\nHTML\n\nY = 1\n", "X", "X = <<HTML\nnew\nHTML",
            "X = <<HTML\nnew\nHTML\n\nY = 1\n",
        ),
        ("a.rb", "X = [<<A, <<B]\n1\nA\n2\nB\nY = 1\n", "X", "", "\nY = 1\n"),
        (
            "a.sh", "f() {\n  cat\n} <<X\nold\nX\ng() { cat; }\n", "f", "f() {\n  cat\n}",
            "f() {\n  cat\n}\ng() { cat; }\n",
        ),
        (
            "a.go", "package a\n\ntype (\n\tA int\n\tB int\n)\n", "A", "",
            "package a\n\ntype (\n\n\tB int\n)\n",
        ),
        ("a.cs", "enum E { A = 1, B }\n", "A", "A = 5,", "enum E { A = 5, B }\n"),
        ("a.json", '{\n  "a": 1,\n  "b": 2\n}\n', "b", '"b": 3,', '{\n  "a": 1,\n  "b": 3\n}\n'),
        ("a.json", '{"a": true, "b": null}\n', "b", '"b": 0', '{"a": true, "b": 0}\n'),
        (
            "a.yaml", "a: 1\n\n# About b.\nb: 2\n", "b", "b: 3", "a: 1\n\n# About b.\nb: 3\n",
        ),
    ],
)  # fmt: skip
def test_an_item_next_to_others_is_edited_exactly(
    bench: Bench, name: str, source: str, item: str, code: str, expected: str
) -> None:
    assert _edited(bench, name, source, item, code) == expected


def test_a_conditional_heredoc_is_refused(bench: Bench) -> None:
    source = "W = <<Q unless x\nq\nQ\n"
    assert "replace" in _refusal(bench, "a.rb", source, "W", "W = 1")


def test_the_next_definition_keeps_its_line(bench: Bench) -> None:
    source = "object A {\n  def f = 1;\n\n  type B = Int;\n  def g = 2\n}\n"
    pytest.importorskip("semble_grammars")
    assert "def f = 3;\n\n  type B" in _edited(bench, "a.scala", source, "f", "def f = 3;")


def test_code_that_decorates_the_next_item_is_refused(bench: Bench) -> None:
    source = "def f():\n    pass\n\n\ndef g():\n    pass\n"
    said = _refusal(bench, "a.py", source, "f", "def f():\n    pass\n\n\n@cached")
    assert "function a.g" in said


def test_a_cell_of_a_notebook_is_refused(bench: Bench) -> None:
    source = (
        '{"cells": [{"cell_type": "code", "metadata": {}, "outputs": [],\n'
        '  "source": ["x = 1"]}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}\n'
    )
    bench.write("a.ipynb", source)
    for name in ("cell 1", "a.ipynb > cell 1"):
        bench.refused({"file": "a.ipynb", "item": {"canonical_path": name, "code": "x = 2"}})
    assert bench.read("a.ipynb").decode() == source


def test_an_item_of_a_file_with_crlf_and_no_last_line_end_is_edited_exactly(bench: Bench) -> None:
    source = "# Why.\r\ndef f():\r\n    return 1\r\n\r\ndef g():\r\n    return 2"
    bench.write("a.py", source)
    bench.edit(
        {"file": "a.py", "item": {"canonical_path": "f", "code": "def f():\n    return 3\n"}}
    )
    bench.edit(
        {"file": "a.py", "item": {"canonical_path": "g", "code": "def g():\n    return 4\n"}}
    )
    assert bench.read("a.py").decode() == source.replace("1", "3").replace("2", "4")


def test_lines_distinguish_a_setter_from_its_property(bench: Bench) -> None:
    source = (
        "class A:\n    @property\n    def x(self):\n        return 1\n\n"
        "    @x.setter\n    def x(self, value):\n        pass\n"
    )
    said = _refusal(bench, "a.py", source, "A.x", "")
    assert "lines 2-4" in said
    assert "lines 6-8" in said


def test_a_name_with_other_capitals_is_refused(bench: Bench) -> None:
    source = "public class A {\n  int a, b = 2;\n}\n"
    said = _refusal(bench, "Main.java", source.replace("A {", "Cart {"), "cart", "int a = 1;")
    assert "An item with different capitals exists: class Cart" in said


@pytest.mark.parametrize("code", ["a: 3", ""])
def test_comments_between_keys_stay(bench: Bench, code: str) -> None:
    rest = "\n# Section B\n# =========\n\nb: 2\n\n# End.\n"
    assert _edited(bench, "a.yaml", f"a: 1{rest}", "a", code) == code + rest


def test_front_matter_is_not_a_section(bench: Bench) -> None:
    source = "---\ntitle: x\n---\n\n# A\n\nText.\n"
    _refusal(bench, "a.md", source, "title: x", "")
    assert _edited(bench, "a.md", source, "A", "# A\n\nNew.") == source.replace("Text", "New")


def test_code_with_a_comment_is_indented_as_an_item_of_one_line(bench: Bench) -> None:
    source = "class A {\n  // MARK: - x\n  func f() {}\n}\n"
    new = _edited(bench, "a.swift", source, "A.f", "// New.\nfunc f() { 1 }")
    assert new == "class A {\n  // MARK: - x\n  // New.\n  func f() { 1 }\n}\n"


@pytest.mark.parametrize(
    ("name", "source", "item", "code", "lost"),
    [
        (
            "N.cs",
            "class N {\n  [Obsolete]\n  [return: MarshalAs(U.B)]\n  static int F() => 1;\n}\n",
            "N.F", "static int F() => 2;", "F had `[Obsolete]`, `[return: MarshalAs]`",
        ),
        ("m.ts", "export const f = () => 1;\n", "f", "const f = () => 2;", "f had `export`"),
        ("a.py", '@app.route("/")\ndef b():\n    pass\n', "b", "def b(): 1", "b had `@app.route`"),
        ("a.rs", "#[derive(Eq)]\npub struct S;\n", "S", "struct S();", "S had `#[derive]`, `pub`"),
    ],
)  # fmt: skip
def test_omissions_of_new_code_are_reported(
    bench: Bench, name: str, source: str, item: str, code: str, lost: str
) -> None:
    """oraios/serena#1484 (attributes) and #1956 (export): removed silently."""
    bench.write(name, source)
    result = bench.edit({"file": name, "item": {"canonical_path": item, "code": code}})
    assert f"{name}: {lost}, which the new code leaves out." in result["warnings"]


@pytest.mark.parametrize(
    ("source", "item", "code"),
    [
        ("export const LIMIT = 10;\n", "LIMIT", "LIMIT = 20"),
        ("export const f = async () => {\n  g();\n};\n", "f", "async () => {\n  h();\n}"),
    ],
)
def test_code_that_no_longer_defines_the_item_is_reported(
    bench: Bench, source: str, item: str, code: str
) -> None:
    """oraios/serena#1972: a declaration is replaced by its declarator or its value."""
    bench.write("m.ts", source)
    result = bench.edit({"file": "m.ts", "item": {"canonical_path": item, "code": code}})
    said = f"m.ts no longer defines {item}: the new code does not declare it."
    assert said in result["warnings"]


def test_a_complete_replacement_has_no_warning_of_its_own(bench: Bench) -> None:
    source = "/** @deprecated */\n@Deco\nexport class A {\n  f() { return 1; }\n}\n"
    bench.write("m.ts", source)
    code = source.replace("1", "2")
    result = bench.edit({"file": "m.ts", "item": {"canonical_path": "A", "code": code}})
    assert not any("m.ts" in each for each in result["warnings"])
    assert bench.read("m.ts").decode() == code


GO_CONSTANTS = "package a\n\nconst (\n\tSun = iota\n\tMon\n\tTue // two\n\tWed\n)\n"


@pytest.mark.parametrize(
    ("item", "code", "other"),
    [
        ("Sun", "", "Mon"),
        ("Sun", "Sun = iota + 1", "Mon"),
        ("Mon", "", "Tue"),
        ("Mon", "Mon = 7", "Tue"),
    ],
)
def test_a_constant_of_go_that_others_take_their_value_from_is_refused(
    bench: Bench, item: str, code: str, other: str
) -> None:
    assert f"the value of `{other}` depends" in _refusal(bench, "a.go", GO_CONSTANTS, item, code)


@pytest.mark.parametrize(
    ("item", "code", "old", "new"),
    [
        ("Sun", "Sunday = iota", "Sun =", "Sunday ="),
        ("Mon", "Monday", "Mon\n", "Monday\n"),
        ("Wed", "Wed = 9", "Wed", "Wed = 9"),
        ("Wed", "", "\tWed", ""),
    ],
)
def test_a_constant_of_go_is_edited_where_no_other_value_changes(
    bench: Bench, item: str, code: str, old: str, new: str
) -> None:
    assert _edited(bench, "a.go", GO_CONSTANTS, item, code) == GO_CONSTANTS.replace(old, new)


SHARED_TYPE = "struct S { int a; } s1, *s2;\nint z;\n"


@pytest.mark.parametrize("code", ["struct S { int b; };", "struct S { int b; } s1, *s2;"])
def test_the_variables_after_a_type_of_c_are_kept_once(bench: Bench, code: str) -> None:
    new = _edited(bench, "a.c", SHARED_TYPE, "S", code)
    assert new == SHARED_TYPE.replace("int a", "int b")


@pytest.mark.parametrize("code", ["", "struct S { int b; } other;"])
def test_a_type_of_c_does_not_lose_its_variables(bench: Bench, code: str) -> None:
    assert "is the type of `s1, *s2`" in _refusal(bench, "a.c", SHARED_TYPE, "S", code)


@pytest.mark.parametrize("doc", ["//! Crate docs.\n", "/*! Crate docs. */\n"])
def test_documentation_of_a_rust_file_is_not_part_of_its_first_item(bench: Bench, doc: str) -> None:
    source = f"#![allow(dead_code)]\n{doc}pub fn f() -> u8 {{ 1 }}\n"
    new = _edited(bench, "a.rs", source, "f", "pub fn f() -> u8 { 2 }")
    assert new == source.replace("1", "2")


def test_no_white_space_is_left_in_the_line_of_a_removed_method(bench: Bench) -> None:
    source = "class A:\n    def f(self):\n        pass\n\n    def g(self):\n        pass\n"
    new = _edited(bench, "a.py", source, "A.f", "")
    assert new == "class A:\n\n\n    def g(self):\n        pass\n"


def test_file_that_crashes_its_parser_is_edited_only_as_text(bench: Bench) -> None:
    nested = "".join(" " * level + "if x:\n" for level in range(520))
    source = f"def z():\n    return 1\n\n\n{nested}{' ' * 520}y = 'a'\n"
    said = _refusal(bench, "a.py", source, "z", "def z():\n    return 2\n")
    assert "crashed its parser" in said
    assert "Use `replace`" in said
    (warning,) = broken("a.py", source.encode(), source.replace("1", "2").encode())
    assert "a.py was not checked for syntax errors: the file crashed its parser" in warning


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the crash is inherited by a fork")
def test_grammar_checks_what_crashes_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(_sources: object) -> None:
        os.abort()

    workers._shared.close()
    monkeypatch.setattr(processes, "_alone", lambda: True)  # a fork has the same compiler
    monkeypatch.setattr(problems, "compile_errors", crash)
    (warning,) = broken("a.py", b"x = 1\n", b"x = 1\ny = = 2\n")
    assert "a.py has new syntax errors at line 2" in warning
    workers._shared.close()


def test_a_script_without_an_ending_and_a_notebook_are_examined() -> None:
    script = b"#!/usr/bin/env python3\ndef f():\n    return 1\n"
    assert "line 2" in broken("tool", script, script.replace(b"    return 1\n", b""))[0]
    notebook = b'{"cells": [], "nbformat": 4}'
    assert "new syntax errors" in broken("n.ipynb", notebook, notebook.replace(b"[]", b"["))[0]


@pytest.mark.parametrize(
    "attributes",
    [
        "#[inline] #[must_use]\n",
        "#[inline] #[must_use] ",
        "#[allow(dead_code)] // used by tests\n#[inline]\n",
        "mod m {} #[inline] ",
    ],
)
def test_attributes_in_a_line_with_others_belong_to_the_item(bench: Bench, attributes: str) -> None:
    source = f"use a::b;\n{attributes}fn f() -> u8 {{ 1 }}\n"
    code = f"{attributes.removeprefix('mod m {} ')}fn f() -> u8 {{ 2 }}"
    assert _edited(bench, "a.rs", source, "f", code) == source.replace("1", "2")


def test_a_comment_after_other_code_is_not_part_of_the_item_below(bench: Bench) -> None:
    source = "const A: u8 = 1; // about A\nfn f() {}\n"
    assert _edited(bench, "a.rs", source, "f", "") == "const A: u8 = 1; // about A\n\n"
