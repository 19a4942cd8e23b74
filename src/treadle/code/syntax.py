"""Whether a file's syntax is sound, as its grammar sees it."""

import json
import re
from collections import Counter
from typing import NamedTuple

from tree_sitter import Node

from treadle import toml
from treadle.charsets import as_utf8
from treadle.code.compiling import compile_errors
from treadle.code.languages import Language, language_of
from treadle.code.limits import TooMuchError, nested_too_deep, parse_in_time
from treadle.code.one_line_texts import broken_texts

_MOST = 50
_SHOWN = 120
_PYTHON_SCRIPT = re.compile(rb"#![^\n]{0,200}\bpython[\d.]*\s")
_TOML_LINE = re.compile(r"at line (\d+)")


class Problem(NamedTuple):
    """A position that is not sound syntax: its line, from 1, and that line's text, cut.

    `spans`: the error is around the position, and where it is cannot be said. `reason` is what
    a compiler says.
    """

    line: int
    text: str
    spans: bool = False
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.line} ({self.text!r}{f': {self.reason}' if self.reason else ''})"

    @property
    def key(self) -> str:
        """What is the same of one error before and after a change elsewhere."""
        return "" if self.spans else self.text


def problems(path: str, data: bytes, *, changed: int = 0) -> tuple[Problem, ...] | None:
    """The first places of `data` that are no sound syntax; None where no grammar can tell.

    At most fifty, in order, one for each line. An error that spans byte `changed` is said to be
    there: where a grammar makes nothing of a whole file it cannot tell a place of its own.
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
    # Behind an error the grammar may take the end of a literal for the start of one.
    for text in () if tree.root_node.has_error else broken_texts(language, tree.root_node)[:_MOST]:
        line = text.start_point.row + 1
        found.append(_at_line(data, line, "a string literal does not end on its line"))
    return tuple({each.line: each for each in sorted(found)}.values())


def new_problems(path: str, before: bytes, after: bytes) -> tuple[Problem, ...]:
    """What is not sound syntax in `after` and was not there in `before`, by the lines' text.

    Python is what its compiler says it is, where that could compile the file before.
    """
    if is_python(path, after):
        compiled = compile_errors((before, after))
        if compiled is not None and compiled[0] is None:
            return () if compiled[1] is None else (_at_line(after, *compiled[1]),)
    return new_grammar_problems(path, before, after)


def new_grammar_problems(path: str, before: bytes, after: bytes) -> tuple[Problem, ...]:
    """The same by the grammar alone."""
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
    """By its ending, or by the first line of a script without one."""
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
    """The first error of a JSON or TOML file."""
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
    """Where `node` begins; what is missing is so where the text before it ends."""
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
