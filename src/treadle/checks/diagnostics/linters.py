"""Parses the diagnostics of gcc, mypy, tsc, pyright, make, rustc, eslint and ruff."""

import re
from collections.abc import Sequence

from treadle.checks.diagnostics.reader import Reader, integer, object_in, severity_of, text_in

_AT = r"(?P<file>[^\s:][^:]*):(?P<line>\d+):(?P<column>\d+): "
_SEVERITY = r"(?P<severity>fatal error|error|warning|note|info(?:rmation)?|hint|style)"

_PATTERNS = (
    # a.c:3:5: error: …, a.py:3: note: …, a.ts:3:5 - error TS2322: …, a.rs:3:5: error[E0308]: …
    (
        r"(?P<file>[^\s:][^:]*):(?P<line>\d+)(?::(?P<column>\d+))?(?::\d+){0,2}(?:: | - )"
        rf"{_SEVERITY}"
        r"(?:\[(?P<rust>\w+)\]| (?P<number>[A-Z]+\d+))?: (?P<message>.+)"
    ),
    # a.ts(3,5): error TS2322: …
    (
        rf"(?P<file>[^\s(][^(]*)\((?P<line>\d+),(?P<column>\d+)\): {_SEVERITY} "
        r"(?P<number>[A-Z]+\d+): "
        r"(?P<message>.+)"
    ),
    # a.py:3:5: F401 …
    rf"{_AT}(?P<number>[A-Z]{{1,4}}\d{{2,5}}|invalid-syntax):? (?:\[\*\] )?(?P<message>.+)",
    # Makefile:3: *** …
    r"(?P<file>[^\s:][^:]*):(?P<line>\d+): \*\*\* (?P<message>.+)",
    # a.py: error: …
    rf"(?P<file>[^\s:][^:]*\.pyi?): {_SEVERITY}: (?P<message>.+)",
    # a.c:(.text+0x5): undefined reference to …
    (
        r"(?:\S*ld: )?(?P<file>[^\s:]+):(?:\([^)]*\)|(?P<line>\d+)): "
        r"(?P<message>(?:undefined reference|multiple definition).+)"
    ),
)
_FORMS = tuple(map(re.compile, _PATTERNS))

_CODE = re.compile(r"\s+(?:\[(?P<code>-W[\w=+,-]+|[a-z][\w-]*)\]|\((?P<report>report\w+)\))$")


class OneLineReader(Reader):
    """Parses the common variants of `file:line:column: error: message`."""

    def line(self, text: str) -> None:
        text = text.strip()
        if ":" not in text:
            return
        for form in _FORMS:
            if found := form.fullmatch(text):
                self._add(found)
                return

    def _add(self, found: re.Match[str]) -> None:
        parts = found.groupdict()
        message = found["message"]
        code = parts.get("rust") or parts.get("number")
        if code is None and (named := _CODE.search(message)):
            message, code = message[: named.start()], named["code"] or named["report"]
        self.findings.add(
            found["file"],
            parts.get("line"),
            message,
            severity=severity_of(parts.get("severity") or "error"),
            column=parts.get("column"),
            code=code,
        )


_HEADERS = (
    re.compile(r"(?P<severity>error|warning)(?:\[(?P<code>[\w:]+)\])?: (?P<message>.+)"),
    re.compile(r"(?P<code>[A-Z]{1,4}\d{2,5}|invalid-syntax):? (?:\[\*\] )?(?P<message>.+)"),
)
_ARROW = re.compile(r" *--> (?P<file>.+?):(?P<line>\d+):(?P<column>\d+)")


class ArrowReader(Reader):
    """Joins a message with the location in the first `-->` line below it.

    Later `-->` lines of the same message point to related code, so they are ignored.
    """

    _header: re.Match[str] | None = None

    def line(self, text: str) -> None:
        if (header := self._header) is not None and (arrow := _ARROW.fullmatch(text)):
            self._header = None
            self.findings.add(
                arrow["file"],
                arrow["line"],
                header["message"],
                severity=severity_of(header.groupdict().get("severity") or "error"),
                column=arrow["column"],
                code=header["code"],
            )
        elif text[:1].isalpha():
            self._header = next(filter(None, (form.fullmatch(text) for form in _HEADERS)), None)


_FINDING = re.compile(
    r"\s+(?P<line>\d+):(?P<column>\d+)\s+(?P<severity>error|warning)\s+"
    r"(?P<message>.+?)(?:\s{2,}(?P<code>[\w@/-]+))?"
)


class EslintReader(Reader):
    """Joins each diagnostic with the name of its file.

    Eslint prints this name on a line of its own, above the diagnostics of the file.
    """

    _file = ""

    def line(self, text: str) -> None:
        if text[:1].strip():
            self._file = text.strip()
        elif self._file and (found := _FINDING.fullmatch(text)):
            self.findings.add(
                self._file,
                found["line"],
                found["message"],
                severity=severity_of(found["severity"]),
                column=found["column"],
                code=found["code"],
            )


class RuffReader(Reader):
    """Parses one diagnostic from each JSON line, and shows it in the short text format of ruff."""

    def line(self, text: str) -> Sequence[str] | None:
        found = object_in(text)
        if found is None or not isinstance(at := found.get("location"), dict):
            return None
        file, message = text_in(found, "filename"), text_in(found, "message")
        line, column, code = integer(at, "row"), integer(at, "column"), text_in(found, "code")
        if not file or not message:
            return None
        self.findings.add(file, line, message, column=column, code=code or None)
        return (f"{self.findings.location(file)}:{line}:{column}: {code} {message}",)
