"""Diagnostics on one line with their location: gcc, mypy, tsc, pyright, make."""

import re

from treadle.checks.diagnostics.reader import Reader, severity_of

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
    """Finds the usual forms of `file:line:column: error: message`."""

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
