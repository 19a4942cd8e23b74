"""Parses failed tests of Node's own runner (TAP or spec), vitest, jest and mocha."""

import re

from treadle.checks.diagnostics.reader import Findings, Reader

_TITLES = tuple(
    map(
        re.compile,
        (
            r"not ok \d+ - (?P<title>.+)",  # TAP
            r"✖ (?P<title>.+?) \([\d.]+ms\)",  # node, spec
            r"FAIL\s+(?P<title>\S+ > .+)",  # vitest
            r"● (?P<title>.+)",  # jest
            r"\d+\) (?P<title>.+?):?",  # mocha
        ),
    )
)
_FRAME = re.compile(
    r"(?:(?:at|\u276f) (?:[^()]*[ (])?|[^()]+ \()?"
    r"(?P<file>(?:file://)?[^\s()':]+):(?P<line>\d+):(?P<column>\d+)\)?(?: \{)?"
)
_SAID = re.compile(r"(?P<message>(?:\w*Error\b.*|expect\(.*|Expected .*))")
_TAP_SAID = re.compile(r"error: (?:'(?P<message>.*)'|\|-)")
_TAP_PARENT = re.compile(r"failureType: 'subtestsFailed'")
_TOTALS = tuple(
    map(
        re.compile,
        (
            r"(?:#|\u2139) (?P<word>pass|fail|skipped) (?P<number>\d+)",
            r"(?P<number>\d+) (?P<word>passing|failing|pending)(?: .*)?",
        ),
    )
)
_TESTS = re.compile(r"Tests:?\s+(?P<counts>\d+ .*)")
_COUNT = re.compile(r"(\d+) (passed|failed|skipped|todo)")
_LEADS = frozenset("n✖F●#\u2139T0123456789")
"""The first characters of the lines that contain titles or totals."""

_WORDS = {
    "pass": "passed",
    "fail": "failed",
    "passing": "passed",
    "failing": "failed",
    "pending": "skipped",
}


class NodeReader(Reader):
    """Joins the title of a failed test with its error and its first location in the project."""

    def __init__(self, findings: Findings) -> None:
        super().__init__(findings)
        self._title: str | None = None
        self._said = ""
        self._says_next = False

    def line(self, text: str) -> None:
        text = text.strip()
        if text[:1] in _LEADS:
            if title := next(filter(None, (form.fullmatch(text) for form in _TITLES)), None):
                self._title, self._said = title["title"], ""
                return
            if self._count(text):
                return
        if self._title is not None:
            self._read_line(text)

    def _read_line(self, text: str) -> None:
        if self._says_next:
            self._says_next, self._said = False, text
        elif _TAP_PARENT.fullmatch(text):
            self._title = None  # the failure of a subtest has the location
        elif tap := _TAP_SAID.fullmatch(text):
            self._said, self._says_next = tap["message"] or "", tap["message"] is None
        elif not self._said and (said := _SAID.fullmatch(text)):
            self._said = said["message"]
        elif (at := _FRAME.fullmatch(text)) and self.findings.is_ours(at["file"]):
            self.findings.add(
                at["file"],
                at["line"],
                self._said or "failed",
                column=at["column"],
                code=self._title,
            )
            self._title = None

    def _count(self, text: str) -> bool:
        """Add the totals in a line to the counts. Returns False if the line has no totals."""
        if tests := _TESTS.fullmatch(text):
            found = [(word, number) for number, word in _COUNT.findall(tests["counts"])]
        elif total := next(filter(None, (form.fullmatch(text) for form in _TOTALS)), None):
            found = [(_WORDS.get(total["word"], total["word"]), total["number"])]
        else:
            return False
        self.findings.counts.update((word, int(number)) for word, number in found if int(number))
        return bool(found)
