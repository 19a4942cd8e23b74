"""What the grammars say of a file's syntax."""

import pytest

from treadle.code.syntax.problems import new_problems, problems

SOUND = {
    "a.py": b"def f():\n    return 1\n",
    "a.rs": b"fn f() -> u8 { 1 }\n",
    "a.ts": b"export const f = (a: number) => a;\n",
    "a.go": b"package a\n\nfunc f() int { return 1 }\n",
    "a.java": b"class A { int f() { return 1; } }\n",
    "a.json": b'{"a": [1, 2]}\n',
    "a.toml": b'[a]\nb = "c"\n',
}
BROKEN = {
    "a.py": (b"x = 1\ndef f(:\n    return 1\n", 2),
    "a.rs": (b"fn f() -> u8 { 1 }\nfn g( {\n", 2),
    "a.ts": (b"export const f = (a: number => a;\n", 1),
    "a.go": (b"package a\n\nfunc f() int { return 1 \n", 3),
    "a.java": (b"class A { int f( { return 1; } }\n", 1),
    "a.json": (b'{"a": 1,\n "b" 2}\n', 2),
    "a.toml": (b'[a]\nb = "c\n', 2),
}


@pytest.mark.parametrize("path", SOUND)
def test_valid_files_have_no_syntax_errors(path: str) -> None:
    assert problems(path, SOUND[path]) == ()


@pytest.mark.parametrize("path", BROKEN)
def test_syntax_error_names_its_line(path: str) -> None:
    data, line = BROKEN[path]
    found = problems(path, data)
    assert found is not None
    assert line in {each.line for each in found}


def test_files_without_a_grammar_have_no_syntax_errors() -> None:
    assert problems("notes.txt", b"def f(:") is None
    assert new_problems("notes.txt", b"", b"def f(:") == ()


def test_existing_errors_are_not_new() -> None:
    before = b"def f(:\n    pass\n"
    assert new_problems("a.py", before, b"x = 1\n\n\n" + before) == ()
    assert [each.text for each in new_problems("a.py", before, before + b"\ny = = 2\n")] == [
        "y = = 2"
    ]


def test_deep_nesting_is_not_parsed() -> None:
    assert problems("a.py", b"(" * 200_000) is None


def test_error_over_the_whole_file_is_reported_at_the_change() -> None:
    lines = [f"def f{n}(a):\n    return g(a, {n})\n\n\n" for n in range(300)]
    before = ("class A:\n    x = 1\n\n\n" + "".join(lines)).encode()
    after = before.replace(b"return g(a, 200)", b"return (g(a, 200")
    (found,) = new_problems("a.py", before, after)[:1]
    assert found.line == before[: before.index(b"g(a, 200)")].count(b"\n") + 1
    assert new_problems("a.py", after, after.replace(b"g(a, 100)", b"g(a, 101)")) == ()


ONE_LINE_TEXTS = {
    "a.c": (b'char *x = "@";\n', b'char *x = "a\\\nb";\n'),
    "a.cpp": (b'auto x = L"@";\n', b'auto x = R"(a\nb)";\n'),
    "a.cs": (
        b'class A { string s = "@"; }\n',
        b'class A { string s = @"a\nb", t = """\na\n"""; }\n',
    ),
    "a.go": (b"package a\n\nvar x = '@'\n", b"package a\n\nvar x = `a\nb`\n"),
    "a.java": (b'class A { String s = "@"; }\n', b'class A { String s = """\na\n"""; }\n'),
    "a.js": (b"let x = '@';\n", b"let x = `a\nb`, y = 'a\\\nb';\n"),
    "a.kt": (b'val x = "@"\n', b'val x = """a\nb"""\nval y = "a${f(\n1)}b"\n'),
    "a.lua": (b'local x = "@"\n', b"local x = [[a\nb]]\n"),
    "a.scala": (b'object A { val x = "@" }\n', b'object A { val x = """a\nb""" }\n'),
    "a.swift": (b'let x = "@"\n', b'let x = """\na\n"""\n'),
    "a.ts": (b'let x = "@";\n', b"let x = `a\n${1}`;\n"),
    "a.tsx": (b'let x = "@";\n', b'let x = <p a="b\nc" />;\n'),
}


@pytest.mark.parametrize("path", ONE_LINE_TEXTS)
def test_a_string_that_does_not_end_on_its_line_is_a_problem(path: str) -> None:
    """google-gemini/gemini-cli#26209, #26493, #2011: an escape became a real line break."""
    source, multi_line = ONE_LINE_TEXTS[path]
    before = source.replace(b"@", b"\\n")
    found = new_problems(path, before, source.replace(b"@", b"\n"))
    assert [each.line for each in found] == [source.count(b"\n", 0, source.index(b"@")) + 1]
    assert new_problems(path, before, multi_line) == ()
