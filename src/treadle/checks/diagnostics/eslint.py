"""Diagnostics of eslint's usual format: a file, then its findings below it."""

import re

from treadle.checks.diagnostics.reader import Reader, severity_of

_FINDING = re.compile(
    r"\s+(?P<line>\d+):(?P<column>\d+)\s+(?P<severity>error|warning)\s+"
    r"(?P<message>.+?)(?:\s{2,}(?P<code>[\w@/-]+))?"
)


class EslintReader(Reader):
    """Joins each finding with the file above it."""

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
