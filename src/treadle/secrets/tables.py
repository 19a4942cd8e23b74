"""Finds secrets in the columns of tables: CSV, TSV, Markdown, and output of database clients.

The first line names the columns. The name of a column decides which rules apply to its values.
"""

import re
from collections.abc import Iterator

from treadle.secrets.assignments import ASSIGNMENT, KEYWORD_PATTERN
from treadle.secrets.detector import Detector, Finding

_MAX_ROWS = 20_000
_CELL = r"[\"']?[A-Za-z_][\w .-]{0,40}[\"']?"
_PIPED = r"[\w \"'./*`-]{0,40}"
_END = r"(?:\r?\n|(?:\\{1,3}r)?\\{1,3}n)"
_HEADER = (
    rf"(?m:(?:^|(?<=\\n)|(?<=[\"'`]))(?:(?P<head>{_CELL}(?P<between>[,;\t]){_CELL}(?:(?P=between){_CELL}){{0,60}})(?P<end>{_END})"
    # In Markdown and output of database clients, a line of dashes follows.
    rf"|(?P<piped>{_PIPED}\|{_PIPED}(?:\|{_PIPED}){{0,60}})(?P<after>{_END})(?=[ |:+]{{0,8}}--)))"
)
_AROUND_CELL = " \t\r\"'`*\\"
_RULE = re.compile(r"[-=+:| \t]+")
"""Matches the line between the names of the columns and the rows."""


class _Table(Detector):
    """Finds the rows of tables whose first line begins between two positions."""

    def findings(self, text: str, start: int, end: int) -> Iterator[Finding]:
        """Yield every secret in the rows, also in rows after `end`."""
        at = start
        while (match := self.pattern.search(text, at, end)) is not None:
            at = max(match.end() - 1, match.start() + 1)
            head, between = match["head"] or match["piped"], match["between"] or "|"
            names = [cell.strip(_AROUND_CELL) for cell in head.split(between)]
            if any(map(_names_secret, names)):
                end_of_line = match["end"] or match["after"]
                yield from _rows(text, match.end(), names, (between, end_of_line))


def _rows(text: str, at: int, names: list[str], separators: tuple[str, str]) -> Iterator[Finding]:
    between, end_of_line = separators
    for _ in range(_MAX_ROWS):
        end = text.find(end_of_line, at)
        line = text[at : end if end >= 0 else len(text)]
        if not _RULE.fullmatch(line):
            cells = line.split(between)
            if len(cells) != len(names) or any(map(_is_header, cells)):
                return
            yield from _secrets(cells, names, at)
        if end < 0:
            return
        at = end + len(end_of_line)


def _secrets(cells: list[str], names: list[str], at: int) -> Iterator[Finding]:
    for cell, name in zip(cells, names, strict=True):
        value = cell.strip(_AROUND_CELL)
        if value and _names_secret(name):
            given = f'{name.replace(" ", "_")}="{value}"'
            for _, _, kind in ASSIGNMENT.findings(given, 0, len(given)):
                start = at + cell.index(value)
                yield start, start + len(value), kind
                break
        at += len(cell) + 1


def _is_header(cell: str) -> bool:
    """Whether a cell is the name of a column.

    Such a cell is in the first line of another table, which is searched separately.
    """
    return cell.replace("_", "").replace(" ", "").isalpha() and _names_secret(cell)


def _names_secret(name: str) -> bool:
    return _KEYWORD.search(name) is not None


_KEYWORD = re.compile(KEYWORD_PATTERN)
_INSERT = (
    r"\((?P<names>[\w\s,.`\"\[\]\\]{3,600})\)"
    r"\s{0,20}(?:VALUES|values|Values)\s{0,20}"
    r"(?P<rows>\((?:[^()\n]|\n(?=\s{0,40}\()){3,4000}\)"
    r"(?:,\s{0,20}\([^()\n]{3,4000}\)){0,500})"
)
_TUPLE = re.compile(r"\((?P<cells>[^()]*)\)")
_LITERAL = re.compile(r"\\*'(?P<value>[^']*?)\\*'|[^,'\s][^,']*")


class _Insert(Detector):
    """Finds values that an SQL statement inserts into columns that are named after secrets."""

    def findings(self, text: str, start: int, end: int) -> Iterator[Finding]:
        """Yield every secret in the rows of statements that begin between these positions."""
        for match in self.pattern.finditer(text, start, end):
            whole = self.pattern.match(text, match.start()) or match  # includes text after `end`
            names = [name.strip(_AROUND_CELL + "[]\n") for name in whole["names"].split(",")]
            if not any(map(_names_secret, names)):
                continue
            for row in _TUPLE.finditer(text, whole.start("rows"), whole.end("rows")):
                literals = list(_LITERAL.finditer(text, row.start("cells"), row.end("cells")))
                for literal, name in zip(literals, names, strict=False):
                    if literal["value"]:
                        yield from _secrets([literal["value"]], [name], literal.start("value"))


_EOL = r"(?:\r?\n|\\+r?\\*n)"
_RULED = rf"[`\"' ]*(?:\|[^\n]*)?{_EOL}(?:\|[ :]*--| *-+\+-)"
"""Matches the rest of a first line, and the line of dashes below it."""
_INSERTED = r"\)(?: |\\*n|\n)*(?:VALUES|values|Values)(?: |\\*n|\n)*\("
FIRST_SCREEN = _INSERTED
"""An RE2 pattern for the text between the columns and the values of an SQL statement."""
FIRST_LINE_ENDS = (
    rf"(?:[\"']?(?:[,;\t][A-Za-z0-9_\"' .,;\t-]*)?{_EOL}[^\n(){{}}=<>| ]*[,;\t]|{_RULED})"
)
"""Matches the text after a secret's name in the first line of a table. The first scan uses it."""
_FOLLOWING = r"[,;\t][\"']?[A-Za-z_][A-Za-z0-9_ .-]*[\"']?"
_ROW = rf"{_EOL}[^\n(){{}}=<>|,;\t]*[,;\t][^\n(){{}}=<>|]*[0-9!@#$%^&*~]"
CSV_SCREEN = rf"[\"']?(?:{_FOLLOWING})+{_ROW}"
LAST_COLUMN = r"[,;\t][\"']?[A-Za-z0-9_]*", rf"[\"']?{_ROW}"
"""Patterns for the text before and after a name in the last column."""
NAMED_SCREENS = (_RULED, r"[A-Za-z0-9_ ,.`\"\[\]\\\n]*" + _INSERTED)
TABLE = _Table(
    _HEADER,
    lambda _match: None,
    cues=(rf"[A-Za-z\"'` |]{_EOL}[^\n]*[,;\t|+]",),
)
"""The detector for all rows of a table."""
INSERT = _Insert(_INSERT, lambda _match: None, cues=("VALUES|values|Values",))
"""The detector for all rows that a statement inserts."""
