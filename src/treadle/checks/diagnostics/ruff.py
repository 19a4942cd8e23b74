"""Diagnostics of `ruff check --output-format=json-lines`: an object on each line."""

from collections.abc import Sequence

from treadle.checks.diagnostics.json_lines import integer, object_in, text_in
from treadle.checks.diagnostics.reader import Reader


class RuffReader(Reader):
    """Reads one finding from each line, and shows it in ruff's own short form."""

    def line(self, text: str) -> Sequence[str] | None:
        found = object_in(text)
        if found is None or not isinstance(at := found.get("location"), dict):
            return None
        file, message = text_in(found, "filename"), text_in(found, "message")
        line, column, code = integer(at, "row"), integer(at, "column"), text_in(found, "code")
        if not file or not message:
            return None
        self.findings.add(file, line, message, column=column, code=code or None)
        return (f"{self.findings.place(file)}:{line}:{column}: {code} {message}",)
