"""Finds syntax errors with the grammar of a language, and for Python with the compiler."""

import json
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from tree_sitter import Node

from treadle import toml
from treadle.charsets import as_utf8
from treadle.code.languages import Language, language_of
from treadle.code.languages.limits import TooMuchError, nested_too_deep, parse_in_time

if TYPE_CHECKING:
    from tree_sitter import Query


_C = ("string_literal", "char_literal")

_ECMASCRIPT = ("string",)

_TYPES = {
    "c": _C,
    "cpp": _C,
    "objc": _C,
    "csharp": ("string_literal", "character_literal"),
    "go": ("rune_literal", "interpreted_string_literal"),
    "java": ("string_literal", "character_literal"),
    "javascript": _ECMASCRIPT,
    "kotlin": ("string_literal", "character_literal"),
    "lua": _ECMASCRIPT,
    "scala": ("string", "interpolated_string"),
    "swift": ("line_string_literal",),
    "tsx": _ECMASCRIPT,
    "typescript": _ECMASCRIPT,
}
"""The node types of one-line literals, by language.

Literals that may have several lines can have the same node type.
"""

_HOLES = ("interpol", "substitution")

_CONTINUED = re.compile(rb"\\(?:\r\n|[\s\S])")

_LONG = re.compile(rb"[A-Za-z0-9@]*(?:\"\"\"|'''|\[)")


def broken_texts(language: Language, root: "Node") -> "list[Node]":
    """Return the literals below `root` with a line break that the language does not allow."""
    from tree_sitter import QueryCursor

    query = _query(language)
    if query is None:
        return []
    found = QueryCursor(query).captures(root).get("text", [])
    return [
        node
        for node in found
        if node.start_point.row != node.end_point.row and not node.has_error and _is_broken(node)
    ]


@lru_cache(maxsize=64)
def _query(language: Language) -> "Query | None":
    from tree_sitter import Language as Grammar
    from tree_sitter import Query

    types = _TYPES.get(language.name, ())
    if not types:
        return None
    loaded = language.grammar()
    grammar = loaded if isinstance(loaded, Grammar) else Grammar(loaded)
    return Query(grammar, " ".join(f"({each}) @text" for each in types))


def _is_broken(node: "Node") -> bool:
    if node.parent is not None and node.parent.type == "jsx_attribute":
        return False  # the value of a JSX attribute may have several lines
    text = node.text or b""
    if _LONG.match(text):
        return False
    for child in reversed(node.children):
        if any(word in child.type for word in _HOLES):
            start, end = child.start_byte - node.start_byte, child.end_byte - node.start_byte
            text = text[:start] + text[end:]
    return b"\n" in _CONTINUED.sub(b"", text)


_MAX_COMPILED_BYTES = 2_000_000


class CompileError(NamedTuple):
    """The first error that the compiler reports, with its line (from 1)."""

    line: int
    message: str


def compile_errors(sources: Sequence[bytes]) -> tuple[CompileError | None, ...] | None:
    """Return the first error of each source, or None for a source without an error.

    The whole result is None if a source is too long or too deeply nested to compile.
    """
    if any(len(source) > _MAX_COMPILED_BYTES for source in sources):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return tuple(map(_compile_error, sources))
    except (MemoryError, RecursionError):
        return None


def _compile_error(source: bytes) -> CompileError | None:
    try:
        compile(source, "<edit>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return CompileError(error.lineno or 1, str(error.msg))
    except ValueError as error:
        return CompileError(1, str(error))
    return None


_MOST = 50

_SHOWN = 120

_PYTHON_SCRIPT = re.compile(rb"#![^\n]{0,200}\bpython[\d.]*\s")

_TOML_LINE = re.compile(r"at line (\d+)")


class Problem(NamedTuple):
    """A syntax error with its line (from 1) and the text of that line, which may be cut.

    `spans` states that the error covers more than this position, and that its exact position is
    unknown. `reason` is the message of a compiler, or empty.
    """

    line: int
    text: str
    spans: bool = False
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.line} ({self.text!r}{f': {self.reason}' if self.reason else ''})"

    @property
    def key(self) -> str:
        """A key that identifies the error even after another part of the file changes."""
        return "" if self.spans else self.text


def problems(path: str, data: bytes, *, changed: int = 0) -> tuple[Problem, ...] | None:
    """Return the first syntax errors in `data`, or None if the file cannot be checked.

    There are at most 50 errors, in order, and at most one for each line. If an error spans the byte
    `changed`, it is reported at `changed`, since its exact position is unknown.
    """
    if path.endswith((".json", ".ipynb", ".toml")):
        return _of_data(path, data)
    language = language_of(path, data)
    if not isinstance(language, Language) or nested_too_deep(data):
        return None
    try:
        tree = parse_in_time(language.parser(), data)
    except TooMuchError:
        return None
    found: list[Problem] = []
    waiting: list[Node] = [tree.root_node] if tree.root_node.has_error else []
    while waiting and len(found) < _MOST:
        node = waiting.pop()
        if node.is_error or node.is_missing:
            found.append(_problem(data, node, changed))
        if not node.is_error:
            waiting += [child for child in reversed(node.children) if _is_ill(child)]
    # After an error, the grammar may take the end of a literal for the start of another literal.
    # Therefore literals are checked only in files without errors.
    for text in () if tree.root_node.has_error else broken_texts(language, tree.root_node)[:_MOST]:
        line = text.start_point.row + 1
        found.append(_at_line(data, line, "a string literal does not end on its line"))
    return tuple({each.line: each for each in sorted(found)}.values())


def new_problems(path: str, before: bytes, after: bytes) -> tuple[Problem, ...]:
    """Return the syntax errors in `after` that are not in `before`.

    Errors are compared by the text of their lines. A Python file that compiled before the change is
    checked by the compiler alone.
    """
    if is_python(path, after):
        compiled = compile_errors((before, after))
        if compiled is not None and compiled[0] is None:
            return () if compiled[1] is None else (_at_line(after, *compiled[1]),)
    return new_grammar_problems(path, before, after)


def new_grammar_problems(path: str, before: bytes, after: bytes) -> tuple[Problem, ...]:
    """Return the new syntax errors that the grammar alone finds."""
    before, after = as_utf8(path, before), as_utf8(path, after)
    changed = _first_difference(before, after)
    present = problems(path, after, changed=changed)
    if not present:
        return ()
    known = Counter(each.key for each in problems(path, before, changed=changed) or ())
    new = []
    for each in present:
        if known[each.key]:
            known[each.key] -= 1
        else:
            new.append(each)
    return tuple(new)


def is_python(path: str, data: bytes) -> bool:
    """Whether a file is Python, by its ending or by the first line of a script."""
    if path.endswith((".py", ".pyi", ".pyw")):
        return True
    return "." not in path.rpartition("/")[2] and _PYTHON_SCRIPT.match(data) is not None


def _first_difference(one: bytes, other: bytes) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _of_data(path: str, data: bytes) -> tuple[Problem, ...]:
    """Return the first error of a JSON or TOML file, or an empty tuple."""
    line = 1
    try:
        text = data.decode("utf-8-sig")
        if path.endswith(".toml"):
            toml.loads(text)
        else:
            json.loads(text)
    except json.JSONDecodeError as error:
        line = error.lineno
    except (ValueError, RecursionError) as error:
        if (found := _TOML_LINE.search(str(error))) is not None:
            line = int(found[1])
    else:
        return ()
    return (_at_line(data, line),)


def _at_line(data: bytes, line: int, reason: str = "") -> Problem:
    lines = data.split(b"\n")
    text = lines[min(line, len(lines)) - 1].strip()[:_SHOWN].decode("utf-8", "replace")
    return Problem(line, text, reason=reason)


def _is_ill(node: Node) -> bool:
    return node.has_error or node.is_missing


def _problem(data: bytes, node: Node, changed: int) -> Problem:
    """Return the problem at the start of `node`.

    A missing token is reported at the end of the text before it.
    """
    spans = not node.is_missing and node.start_byte < changed < node.end_byte
    if node.is_missing:
        at = len(data[: node.start_byte].rstrip())
    else:
        at = changed if spans else node.start_byte
    start = data.rfind(b"\n", 0, at) + 1
    end = data.find(b"\n", at)
    line = data[start : end if end >= 0 else len(data)].strip()
    text = line[:_SHOWN].decode("utf-8", "replace")
    return Problem(data.count(b"\n", 0, at) + 1, text, spans)
