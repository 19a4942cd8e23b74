"""Questions that are whole reports: templates, traces, links and names in them."""

from pathlib import Path

import pytest

from treadle.code import CodeIndex, SearchResults, View
from treadle.code.retrieval.query import Question
from treadle.code.retrieval.report import read_report

ISSUE = """Session cookie is lost after a redirect

<!--
Please search the tracker before you open an issue. Never remove this comment.
-->

- [x] I have searched the [issues](https://example.org/project/issues) of this repository

### Environment

* Parser version: 2.7.1
* Operating System version: Linux
* Compiler: gcc 12.2

### Steps to reproduce

1. log in, then follow a redirect
2. the cookie of the session is gone

```
2026-01-05 11:12:13 DEBUG dispatcher took 12 ms for template compiler
requests==2.31.0
ValueError: redirect without a cookie jar
```

### Additional context

_No response_
"""


def found(tmp_path: Path, files: dict[str, str], query: str, view: View) -> SearchResults:
    for name, text in files.items():
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    with CodeIndex.open(tmp_path / "root", cache_dir=tmp_path / "cache") as index:
        index.refresh()
        return index.search(query, view=view)


def best_files(tmp_path: Path, files: dict[str, str], query: str) -> list[str]:
    """The files of an answer, best first."""
    return [hit.file for hit in found(tmp_path, files, query, View.FILES).results]


def best_items(tmp_path: Path, files: dict[str, str], query: str) -> list[str]:
    """The names of the items of an answer, best first."""
    return [hit.name for hit in found(tmp_path, files, query, View.ITEMS).results]


def test_lines_of_a_template_are_not_part_of_the_question() -> None:
    report = read_report(ISSUE)
    assert report.title == "Session cookie is lost after a redirect"
    assert "the cookie of the session is gone" in report.prose
    assert "ValueError: redirect without a cookie jar" in report.prose
    assert "dispatcher" in report.log
    said = " ".join(report).lower()
    for aside in ("tracker", "searched", "parser", "gcc", "2.31.0", "example", "environment"):
        assert aside not in said


@pytest.mark.parametrize(
    ("aside", "heading"),
    [
        ("### Checklist", "### Describe it so that we understand what the program did"),
        ("**Environment**", "**How the purchase went**"),
        ("Versions:", "## How the purchase went"),
    ],
)
def test_ignored_section_ends_at_the_next_heading_of_its_level(aside: str, heading: str) -> None:
    report = read_report(f"It fails\n{aside}\nalmond\n{heading}\nThe cart is empty.")
    assert "The cart is empty." in report.prose
    assert "almond" not in report.prose


def test_an_ignored_section_includes_its_subsections() -> None:
    report = read_report("It fails\n## Environment\n### The shop of mine\nalmond")
    assert report.prose == ""


def test_a_text_of_one_line_is_its_own_title() -> None:
    report = read_report("Fix the parser of versions: 1.2.3 is refused")
    assert report.title == "Fix the parser of versions: 1.2.3 is refused"
    assert not report.prose


def test_template_words_do_not_outweigh_the_problem(tmp_path: Path) -> None:
    code = {
        "environment.py": "def compiler_version(system):\n"
        "    '''The version of the parser, the compiler and the operating system.'''\n"
        "    return parser.version, compiler.version, system.version, template.tracker\n",
        "session.py": "def follow(redirect, jar):\n"
        "    '''Follow a redirect with the cookie of a session.'''\n"
        "    return jar.session(redirect)\n",
    }
    assert best_files(tmp_path, code, ISSUE)[0] == "session.py"


def test_title_words_count_more_than_other_words() -> None:
    terms = Question.of("Crash on resume\n\nThe player stops in the menu.").terms
    assert terms["resum"] > terms["player"]


PYTHON = """Traceback (most recent call last):
  File "/usr/lib/python3.11/site-packages/shop/api/entry.py", line 3, in handle
    return total(order)
  File "/usr/lib/python3.11/site-packages/shop/core/money.py", line 2, in total
    return sum(order.lines)
  File "/usr/lib/python3.11/site-packages/other/core/zeros.py", line 9, in zeros
TypeError: unsupported operand"""
JAVASCRIPT = """TypeError: x is not a function
    at total (/home/me/node_modules/shop/src/core/money.js:2:10)
    at handle (/home/me/node_modules/shop/src/api/entry.js:3:10)"""
JAVA = """java.lang.NullPointerException
\tat java.base/java.util.Objects.requireNonNull(Objects.java:221)
\tat org.shop.core.Money.total(Money.java:4)
\tat org.shop.api.Entry.handle(Entry.java:4)"""
JAVA_CAUSE = """java.lang.IllegalStateException: no order
\tat org.shop.api.Entry.handle(Entry.java:4)
Caused by: java.lang.NullPointerException
\tat org.shop.core.Money.total(Money.java:4)
\t... 1 more"""
JAVA_BODY = "package org.shop;\nclass Part {\n  int NAME(int order) {\n    return 0;\n  }\n}\n"
GO = """panic: runtime error: index out of range
goroutine 1 [running]:
main.total(...)
\t/home/me/shop/core/money.go:4 +0x1d
main.handle(...)
\t/home/me/shop/api/entry.go:4 +0x2d"""
RUST = """thread 'main' panicked at src/core/money.rs:2:5:
   0: shop::core::money::total
             at ./src/core/money.rs:2:5
   1: shop::api::entry::handle
             at ./src/api/entry.rs:2:5"""
CSHARP = """System.NullReferenceException
   at Shop.Core.Money.Total(Order order) in C:\\work\\Shop\\Core\\Money.cs:line 4
   at Shop.Api.Entry.Handle() in C:\\work\\Shop\\Api\\Entry.cs:line 4"""
PHP = """PHP Fatal error:  Uncaught TypeError in /srv/shop/src/core/money.php:3
#0 /srv/shop/src/api/entry.php(3): total()"""
RUBY = """/gems/shop/lib/core/money.rb:2:in `total': undefined method (NoMethodError)
\tfrom /gems/shop/lib/api/entry.rb:2:in `handle'"""


@pytest.mark.parametrize(
    ("trace", "folder", "suffix", "body"),
    [
        (PYTHON, "src/shop", "py", "def NAME(order):\n    return order\n"),
        (JAVASCRIPT, "src", "js", "export function NAME(order) {\n  return order;\n}\n"),
        (JAVA, "src/main/java/org/shop", "java", JAVA_BODY),
        (JAVA_CAUSE, "src/main/java/org/shop", "java", JAVA_BODY),
        (GO, "", "go", "package main\n\nfunc NAME(order int) int {\n\treturn order\n}\n"),
        (RUST, "src", "rs", "pub fn NAME(order: u32) -> u32 {\n    order\n}\n"),
        (
            CSHARP, "src/Shop", "cs",
            "namespace Shop;\nclass Part {\n  object NAME(object order) {\n    return 0;\n  }\n}\n",
        ),
        (PHP, "src", "php", "<?php\nfunction NAME($order) {\n    return $order;\n}\n"),
        (RUBY, "lib", "rb", "def NAME(order)\n  order\nend\n"),
    ],
    ids=["Python", "JavaScript", "Java", "Java with a cause", "Go", "Rust", "C#", "PHP", "Ruby"],
)  # fmt: skip
def test_the_deepest_own_call_of_a_trace_comes_first(
    tmp_path: Path, trace: str, folder: str, suffix: str, body: str
) -> None:
    parts = ("Api/Entry", "Core/Money", "Core/Zeros", "Checkout/Parcel")
    titled = suffix in {"java", "cs"}
    lower = suffix != "cs"
    code: dict[str, str] = {}
    for part, name in zip(parts, ("handle", "total", "zeros", "ship"), strict=True):
        place, file = part.split("/")
        path = f"{place.lower() if lower else place}/{file if titled else file.lower()}.{suffix}"
        written = name.capitalize() if suffix == "cs" else name
        code[f"{folder}/{path}".lstrip("/")] = body.replace("NAME", written)
    query = f"Every order breaks since yesterday\n\nI see this:\n\n```\n{trace}\n```\n"
    first = best_files(tmp_path, code, query)[0]
    assert Path(first).stem.lower() == "money"
    assert best_items(tmp_path, code, query)[0].lower() == "total"


ORDERS = {
    "shop/core/money.py": "def total(order):\n    return order\n",
    "shop/core/zeros.py": "def zeros(order):\n    return order\n",
    "shop/api/entry.py": "def entry(order):\n    return order\n",
}


def test_call_in_an_installed_package_names_no_file_of_the_repository(tmp_path: Path) -> None:
    trace = """Every order breaks

Traceback (most recent call last):
  File "/app/shop/api/entry.py", line 2, in entry
  File "/usr/lib/site-packages/other/core/zeros.py", line 2, in zeros
"""
    assert best_files(tmp_path, ORDERS, trace)[0] == "shop/api/entry.py"


def test_a_link_to_lines_of_the_repository_names_a_function(tmp_path: Path) -> None:
    query = (
        "Every order breaks\n\n"
        "I suspect [this](https://github.com/me/shop/blob/0a1b2c3/shop/core/zeros.py#L2-L3)."
    )
    assert best_files(tmp_path, ORDERS, query)[0] == "shop/core/zeros.py"
    assert best_items(tmp_path, ORDERS, query)[0] == "zeros"


@pytest.mark.parametrize(
    "form",
    [
        "<!-- as in shop/core/zeros.py -->",
        "- [x] I read https://x.org/a/b/blob/main/shop/core/zeros.py",
        "- Checks\n  - [x] I read https://x.org/a/b/blob/main/shop/core/zeros.py",
    ],
)
def test_a_path_in_the_form_of_a_report_is_not_mentioned(tmp_path: Path, form: str) -> None:
    query = f"The order in the entry breaks\n\n{form}\n\nIt stops."
    assert best_files(tmp_path, ORDERS, query)[0] == "shop/api/entry.py"


def test_a_report_that_mentions_a_test_does_not_ask_for_tests(tmp_path: Path) -> None:
    code = {
        "src/jar.py": "def keep(cookie):\n    return cookie.jar\n",
        "tests/test_jar.py": "def test_keep_cookie_in_jar():\n    assert keep(cookie).jar\n",
    }
    query = "The jar loses a cookie\n\nI can add a test for the cookie in the jar if you like."
    assert best_files(tmp_path, code, query)[0] == "src/jar.py"
    assert best_items(tmp_path, code, query)[0] == "keep"


def test_call_in_a_test_does_not_raise_the_score_of_the_test(tmp_path: Path) -> None:
    code = ORDERS | {"tests/test_entry.py": "def test_entry(order):\n    return entry(order)\n"}
    query = "The order in the entry breaks\n\n```\ntests/test_entry.py:2: in test_entry\n```"
    assert best_files(tmp_path, code, query)[0] == "shop/api/entry.py"


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "part",
    [
        "a.", "a/", "`", " ", "<!--", ">", "[x ", "- ", "#", "** ", "![ ", "Error", "at ", "1.1 ",
        "http://", "\n", "a.py in ", "a.py:1 ", "https://a/b/c/blob/", "a_", '"a.py", line ',
    ],
)  # fmt: skip
def test_hostile_reports_are_read_to_their_end(part: str) -> None:
    text = part * (9_900 // len(part)) + "x"
    for query in (f"Fix this\n{text}", "Fix this\n" + text.replace(" ", "\n")):
        assert Question.of(query).terms["fix"] == 1


@pytest.mark.timeout(60)
def test_indented_prose_is_read_in_linear_time() -> None:
    report = read_report("Crash on resume\n\n1. open the menu\n" + " " * 400 + "it stops")
    assert "it stops" in report.code


def test_ambiguous_path_does_not_raise_scores(tmp_path: Path) -> None:
    code = {
        "one/core/zeros.py": "def zeros(order):\n    return order\n",
        "two/core/zeros.py": "def zeros(order):\n    return order[:1]\n",
        "shop/entry.py": "def entry(order):\n    return order\n",
    }
    query = "The order in the entry breaks\n\nI look at {} now."
    assert best_files(tmp_path, code, query.format("core/zeros.py"))[0] == "shop/entry.py"
    assert best_files(tmp_path, code, query.format("two/core/zeros.py"))[0] == "two/core/zeros.py"
