"""The work on foreign text grows with its size, whatever the text is.

Each function gets texts of a size and of four times that size. Quadratic work takes sixteen times
as long for the latter; a ratio below nine passes, in processor time, the best of several tries.
"""

import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from treadle import toml
from treadle.code.files.git import _entries
from treadle.code.files.ignore import _RuleSet
from treadle.code.history.commits import message_terms
from treadle.code.languages import language_of
from treadle.code.languages.limits import nested_too_deep
from treadle.code.parse.content import read_content
from treadle.code.parse.file import origin_of
from treadle.code.parse.names import names, type_name
from treadle.code.retrieval.candidates import mentioned_names
from treadle.code.retrieval.lookup import nearest_paths
from treadle.code.retrieval.report import frames_in, read_report
from treadle.code.syntax.problems import problems
from treadle.code.terms import query_terms, terms_in

_LARGEST_RATIO = 9.0
_MIN_SECONDS = 0.004
"""Below this a measurement says nothing; such work is fast enough anyway."""

Work = Callable[[str], object]


def ignored(pattern: str, path: str) -> object:
    rules = _RuleSet.of([pattern])
    folder, _, name = path.rpartition("/")
    return rules and rules.verdict(folder and folder + "/", name, is_dir=False)


def content_of(path: str) -> Work:
    return lambda text: read_content(path, text.encode(), language_of(path, text.encode()))


def no_error(text: str) -> None:
    with suppress(ValueError, RecursionError):
        toml.loads(text)


HOSTILE: dict[str, Callable[[int], str]] = {
    "spaces": lambda size: " " * size + "x",
    "spaces_in_a_line": lambda size: "at" + " " * size + "x",
    "guard": lambda size: "#if defined" + " " * size + "x",
    "guards": lambda size: "#ifdef \t" * (size // 8),
    "hashes": lambda size: "# " * (size // 2),
    "slashes": lambda size: "/" * size,
    "comments": lambda size: "/* " * (size // 3),
    "quotes": lambda size: '"' * size,
    "escapes": lambda size: '"' + "\\" * size,
    "triple": lambda size: "'''" * (size // 3),
    "brackets": lambda size: "[" * (size // 2) + "]" * (size // 2),
    "braces": lambda size: "{[" * (size // 2),
    "angles": lambda size: "<" * (size // 2) + ">" * (size // 2),
    "dots": lambda size: "a." * (size // 2) + "a = 1",
    "quoted_dots": lambda size: '"a".' * (size // 4) + "a = 1",
    "equals": lambda size: "a = " * (size // 4),
    "colons": lambda size: "a: " * (size // 3),
    "lines": lambda size: "a\n" * (size // 2),
    "blank_lines": lambda size: "\n" * size + "a",
    "one_word": lambda size: "a" * size,
    "underscores": lambda size: "a_" * (size // 2),
    "capitals": lambda size: "aA" * (size // 2),
    "stars": lambda size: "*" * size,
    "dashes": lambda size: "-" * size + "\n" + "=" * size,
    "fences": lambda size: "```\n" * (size // 4),
    "not_ascii": lambda size: "é" * size,
    "cells": lambda size: '{"cells": [' + '{"source": ["a"]},' * (size // 18),
    "generated": lambda size: "# automatically " * (size // 16),
}

FUNCTIONS: dict[str, Work] = {
    "language of a header": lambda text: language_of("a.h", text.encode()),
    "origin": lambda text: origin_of("a.py", text.encode()),
    "nesting": lambda text: nested_too_deep(text.encode()),
    "terms": terms_in,
    "query": lambda text: query_terms(text[:10_000]),
    "report": lambda text: read_report(f"Title\nProse\n{text}"),
    "places in a report": frames_in,
    "names in a question": mentioned_names,
    "message of a commit": message_terms,
    "written name": lambda text: names.__wrapped__(text.encode()[:480], True),
    "written type": type_name.__wrapped__,
    "TOML": no_error,
    "problems of TOML": lambda text: problems("a.toml", text.encode()),
    "problems of JSON": lambda text: problems("a.json", text.encode()),
    "TOML outline": content_of("a.toml"),
    "manifest of a crate": content_of("Cargo.toml"),
    "YAML outline": content_of("a.yaml"),
    "JSON outline": content_of("a.json"),
    "Markdown outline": content_of("a.md"),
    "go.mod": content_of("go.mod"),
    "notebook": content_of("a.ipynb"),
    "text": content_of("a.txt"),
    "ignore pattern": lambda text: ignored(text, "a/b/c.py"),
    "ignored path": lambda text: ignored("*a*b*c*d*e*f*g*h*", text),
    "ignored folders": lambda text: ignored("**/a*/**/b*/**/c*/**/d*/x", text),
    "path": lambda text: nearest_paths(text, ["src/app.py"] * 20, 5),
    "index of git": lambda text: _entries(b"DIRC\0\0\0\x02\0\xff\xff\xff" + text.encode()),
}


def seconds(work: Work, text: str) -> float:
    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        work(text)
        best = min(best, time.process_time() - started)
        if best < _MIN_SECONDS:
            break
    return best


def check_linear(work: Work, make: Callable[[int], str], size: int) -> None:
    small = seconds(work, make(size))
    if small < _MIN_SECONDS / 4:
        size, small = 4 * size, seconds(work, make(4 * size))
    large = seconds(work, make(4 * size))
    assert large < max(_LARGEST_RATIO * max(small, _MIN_SECONDS), 0.05)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_work_grows_with_the_size(function: str) -> None:
    for make in HOSTILE.values():
        check_linear(FUNCTIONS[function], make, 4_000)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_work_grows_with_the_size_of_large_texts(function: str, text: str) -> None:
    check_linear(FUNCTIONS[function], HOSTILE[text], 60_000)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 12 + "b", "a" * 4_000),
        ("**/" + "*a" * 12 + "/**/b", "/".join(["a" * 30] * 400)),
        ("**/a/" * 12 + "b", "a/" * 2_000 + "c"),
        ("*?" * 20 + "z", "a" * 4_000),
        ("[a-z]*" * 12 + "9", "a" * 4_000),
    ],
)
def test_ignore_pattern_with_many_stars_matches_in_linear_time(pattern: str, path: str) -> None:
    assert seconds(lambda text: ignored(pattern, text), path) < 1.0


def test_dotted_name_of_80_kb_is_refused() -> None:
    with pytest.raises(ValueError, match="dotted name has more than 100 parts"):
        toml.loads("[a]\n" + "a." * 40_000 + "b = 1")
    assert toml.loads("a.b.c = 'd.e.f'\n[x.\"y.z\"]\n") == {
        "a": {"b": {"c": "d.e.f"}},
        "x": {"y.z": {}},
    }
    assert toml.loads("a = '" + "b." * 99 + "'")
