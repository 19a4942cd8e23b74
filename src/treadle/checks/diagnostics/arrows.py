"""Diagnostics with the location on the next line, after an arrow: rustc, clippy, ruff."""

import re

from treadle.checks.diagnostics.reader import Reader, severity_of

_HEADERS = (
    re.compile(r"(?P<severity>error|warning)(?:\[(?P<code>[\w:]+)\])?: (?P<message>.+)"),
    re.compile(r"(?P<code>[A-Z]{1,4}\d{2,5}|invalid-syntax):? (?:\[\*\] )?(?P<message>.+)"),
)
_ARROW = re.compile(r" *--> (?P<file>.+?):(?P<line>\d+):(?P<column>\d+)")


class ArrowReader(Reader):
    """Joins a message with the first arrow below it; further ones point to what is related."""

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
