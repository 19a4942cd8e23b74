"""Parses the output of `cargo … --message-format=json`, and the panics and totals of Rust tests."""

import re
from collections.abc import Sequence

from treadle.checks.diagnostics.reader import (
    Findings,
    Object,
    Reader,
    integer,
    object_at,
    object_in,
    objects_at,
    severity_of,
    text_in,
)

_PANIC = re.compile(
    r"thread '(?P<test>[^']*)'(?: \(\d+\))? panicked at (?:'(?P<said>.*)', )?"
    r"(?P<file>[^:']+):(?P<line>\d+):(?P<column>\d+):?"
)
_FRAME = re.compile(r"\s+at (?P<file>[^:]+):(?P<line>\d+):(?P<column>\d+)")
_TOTALS = re.compile(r"test result: \w+\. (\d+ \w+(?:; \d+ \w+)*).*")
_COUNT = re.compile(r"(\d+) (passed|failed|ignored)")
_SAID_LINES = 3


class RustReader(Reader):
    """Parses failed tests and the compiler's messages, and shows the messages as plain text."""

    def __init__(self, findings: Findings) -> None:
        super().__init__(findings)
        self._panic: re.Match[str] | None = None
        self._frame: re.Match[str] | None = None
        self._said: list[str] = []
        self._saying = False

    def line(self, text: str) -> Sequence[str] | None:
        if (message := object_in(text)) is not None and "reason" in message:
            return self._compiler(object_at(message, "message"))
        if panic := _PANIC.fullmatch(text):
            self._tell_panic()
            self._panic, self._frame, self._saying = panic, None, panic["said"] is None
            self._said = [panic["said"]] if panic["said"] else []
        elif totals := _TOTALS.match(text):
            self._tell_panic()
            for number, word in _COUNT.findall(totals[1]):
                self.findings.count(word, int(number))
        elif self._panic is not None:
            self._panicked(text)
        return None

    def end(self) -> None:
        self._tell_panic()

    def _compiler(self, message: Object) -> Sequence[str]:
        said = text_in(message, "message")
        for span in objects_at(message, "spans"):
            if said and span.get("is_primary") is True:
                at = self._expansion_origin(span)
                self.findings.add(
                    text_in(at, "file_name"),
                    integer(at, "line_start"),
                    said,
                    severity=severity_of(text_in(message, "level")),
                    column=integer(at, "column_start"),
                    code=text_in(object_at(message, "code"), "code") or None,
                )
                break
        return text_in(message, "rendered").splitlines()

    def _expansion_origin(self, span: Object) -> Object:
        """The location of the project's code that caused `span`.

        If `span` is in the expansion of a macro, this is the use of the macro. Otherwise it is
        `span` itself.
        """
        for _ in range(100):
            outer = object_at(object_at(span, "expansion"), "span")
            if not outer or self.findings.is_ours(text_in(span, "file_name")):
                break
            span = outer
        return span

    def _panicked(self, text: str) -> None:
        if not text.strip() or text.startswith(("note: ", "stack backtrace:")):
            self._saying = False
        elif self._saying and len(self._said) < _SAID_LINES:
            self._said.append(text)
        elif self._frame is None and (frame := _FRAME.fullmatch(text)):
            self._frame = frame if self.findings.is_ours(frame["file"]) else None

    def _tell_panic(self) -> None:
        if self._panic is None:
            return
        at = self._panic
        if self._frame is not None and not self.findings.is_ours(at["file"]):
            at = self._frame
        self.findings.add(
            at["file"],
            at["line"],
            " ".join(self._said) or "panicked",
            column=at["column"],
            code=self._panic["test"],
        )
        self._panic = None
