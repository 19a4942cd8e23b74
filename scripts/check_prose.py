"""Reports words and patterns in prose that the project does not use.

Reads the Markdown pages; the docstrings, comments and messages of `src/`; the docstrings, comments
and test names of all other Python; and the comments of the page. Code in Markdown and in backquotes
is skipped. `NOT_YET_CHECKED` lists the paths that still have findings. A path may not
get more findings than its entry allows, so the list only shrinks.
"""

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILES = (
    *("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "docs/**/*.md"),
    *("src/**/*.py", "tests/**/*.py", "bench/**/*.py", "scripts/**/*.py", "tools/**/*.py"),
    *("web/src/**/*.ts", "web/src/**/*.tsx"),
)

START = r"(?:^|(?<=[.!?:] ))"
WORDS = {
    r"tell|tells|telling|told": "report, return, state",
    r"anew": "again, rebuild, re-read",
    r"besides?": "next to, alongside; in addition to",
    r"bears?": "have, carry",
    r"dear|dearer|dearest": "expensive",
    r"(?<!')ill": "malformed, invalid",
    r"mend|mends|mended|mending": "fix, correct",
    r"stands?(?! (?:for|in for|out|alone)\b)": "is",
    r"made (?:of|from)": "built from, generated from",
    r"pieces?": "part, excerpt, component",
    r"judge|judges|judged|judging": "evaluate, score",
    r"houses?": "code base, package structure",
    r"doors?": "interface, entry point",
    r"what there is": "available, existing",
    r"what (?:came|comes|became|becomes|has become) of": "result, outcome",
    r"in reach": "available, reachable",
    r"go(?:es|ing|ne)? on with|went on with": "resume, continue",
    r"by turns": "alternately, interleaved",
    r"(?:its|their|whose) likes": "similar spans, peers",
    r"(?<!anyone )(?<!person )(?<!those )who (?:asks|reads|writes|calls)": "callers, readers",
    r"(?<!there )(?:is|are) no (?!longer\b|more\b|less\b)[a-z]\w*": "is not a, is not an",
}
SENTENCES = {
    r"(?:So|Nor|Neither) (?:is|are|was|were|do|does|did|has|have|had|can|may)\b": "no inversion",
    r"Of (?:what|all|several|those|these|some|whom) ": "name the actor first",
}
RULES = [
    *((re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE), use) for pattern, use in WORDS.items()),
    *((re.compile(START + pattern), use) for pattern, use in SENTENCES.items()),
]

ALLOWED = {
    "CONTRIBUTING.md": ["so that who asks finds it done"],
    "src/treadle/diagnosis/report/prompt_conflicts.py": ["state tell add search"],
}
"""Phrases of a path that are right there, such as a term of the field or a quoted text."""

NOT_YET_CHECKED: dict[str, int] = {
    "src/treadle/traces/store": 7,
}
"""The most findings that a file or a folder may have. Clean a path, then remove its entry."""


@dataclass(frozen=True)
class Finding:
    """A word or pattern at a line of a file, and what to write instead."""

    path: str
    line: int
    found: str
    use: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.found!r}: write {self.use}"


def page_prose(text: str) -> Iterator[tuple[int, str]]:
    """The numbered lines of Markdown outside of fenced code."""
    fenced = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def module_prose(text: str) -> Iterator[tuple[int, str]]:
    """The numbered lines of comments, and of strings of three words or more, of a module."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("# ")
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Constant(value=str(value)) if len(value.split()) > 2:
                for offset, line in enumerate(value.splitlines()):
                    yield node.lineno + offset, line.strip()


def test_prose(text: str) -> Iterator[tuple[int, str]]:
    """The numbered lines of docstrings and comments, and the names of tests, of a module."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and "type: ignore" not in token.string:
            yield token.start[0], token.string.lstrip("# ")
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(docstring))):
                for offset, line in enumerate(docstring.splitlines()):
                    yield node.lineno + offset, line.strip()
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                if name.startswith("test_"):
                    yield node.lineno, name.replace("_", " ")


def script_prose(text: str) -> Iterator[tuple[int, str]]:
    """The numbered comment lines of TypeScript."""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith(("//", "/*", "*")):
            yield number, line.strip("/* ")


def prose(path: str, text: str) -> Iterator[tuple[int, str]]:
    """The numbered lines of prose in a file, by the kind of the file."""
    if path.endswith(".md"):
        return page_prose(text)
    if path.endswith((".ts", ".tsx")):
        return script_prose(text)
    return module_prose(text) if path.startswith("src/") else test_prose(text)


def findings(path: str, text: str) -> Iterator[Finding]:
    """The findings in the prose of one file."""
    for number, line in prose(path, text):
        words = re.sub(r"`[^`]*`", "``", line)
        for phrase in ALLOWED.get(path, ()):
            words = words.replace(phrase, "")
        for pattern, use in RULES:
            for match in pattern.finditer(words):
                yield Finding(path, number, match[0], use)


def entry(path: str, entries: dict[str, int]) -> str | None:
    """The longest of `entries` that is `path` or contains it."""
    covering = (name for name in entries if path == name or path.startswith(f"{name}/"))
    return max(covering, key=len, default=None)


def report(found: list[Finding], entries: dict[str, int]) -> list[str]:
    """The faults: findings in checked paths, and entries with more findings than they allow."""
    counts = Counter(entry(each.path, entries) for each in found)
    lines = [str(each) for each in found if entry(each.path, entries) is None]
    for name, allowed in entries.items():
        if counts[name] > allowed:
            lines += [str(each) for each in found if entry(each.path, entries) == name]
            lines.append(f"{name} has {counts[name]} findings, more than its {allowed}.")
        elif counts[name] < allowed:
            note = f"{name} has {counts[name]} findings: lower its entry from {allowed}."
            sys.stdout.write(f"{note}\n")
    return lines


def main(paths: list[str]) -> int:
    """Check all prose, or list every finding of `paths`; 1 if a path has too many."""
    files = [
        file
        for pattern in FILES
        for file in sorted(ROOT.glob(pattern))
        if not file.match("*.d.ts") and "corpus" not in file.parts
    ]
    found = [
        finding
        for file in files
        for finding in findings(file.relative_to(ROOT).as_posix(), file.read_text("utf-8"))
    ]
    if paths:
        lines = [str(each) for each in found if entry(each.path, dict.fromkeys(paths, 0))]
    else:
        lines = report(found, NOT_YET_CHECKED)
    sys.stderr.writelines(f"{line}\n" for line in lines)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
