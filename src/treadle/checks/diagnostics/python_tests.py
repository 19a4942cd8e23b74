"""Parses the sections of failed tests and the short summary in the output of pytest."""

import re
from collections import defaultdict, deque
from dataclasses import dataclass, field

from treadle.checks.diagnostics.reader import Findings, Reader

_MOST = 2_000
"""The maximum number of failures that are kept until the end.

The summary at the end has their test ids.
"""

_SAID_LINES = 4

_RULE = re.compile(r"=+ (?P<title>.+?) =+")
_TITLE = re.compile(r"_+ (?P<title>.+?) _+")
_PLACE = re.compile(r"(?P<file>[^\s:<][^:]*):(?P<line>\d+): ?(?:in .+|[\w.]+)?")
_ONE_LINE = re.compile(r"(?P<file>[^\s:<][^:]*\.py):(?P<line>\d+): (?P<message>.+)")
_FILE = re.compile(r"\s*File \"(?P<file>[^\"<]+)\", line (?P<line>\d+).*")
_SUMMARY = re.compile(r"(?P<word>FAILED|ERROR) (?P<id>\S.*?)(?: - (?P<message>.*))?")
_AT = re.compile(r"ERROR (?:at \w+ of|collecting) (?P<name>.+)")
_TOTALS = re.compile(r"(?:=+ )?(?P<counts>\d+ \w+(?:, \d+ \w+)*) in \d[\d.]*s.*")
_COUNT = re.compile(r"(\d+) (\w+)")
_PLURAL = {"error": "errors", "warning": "warnings"}


@dataclass(slots=True)
class _Failure:
    title: str
    said: list[str] = field(default_factory=list)
    location: tuple[str, str] | None = None
    ours: tuple[str, str] | None = None
    syntax: bool = False


class PytestReader(Reader):
    """Parses failures in every traceback style of pytest.

    The location of a failure is a frame of the traceback. It is the innermost frame whose file
    belongs to the project.
    """

    def __init__(self, findings: Findings) -> None:
        super().__init__(findings)
        self._section = ""
        self._failure: _Failure | None = None
        self._failures: list[_Failure] = []
        self._lines: dict[str, re.Match[str]] = {}
        self._summary: list[re.Match[str]] = []

    def line(self, text: str) -> None:
        if text.startswith("=") and (rule := _RULE.fullmatch(text)):
            self._section, self._failure = rule["title"], None
            self._count(text)
        elif text[:1].isdigit() and _TOTALS.fullmatch(text):  # the totals with the option `-q`
            self._section, self._failure = "", None
            self._count(text)
        elif self._section in {"FAILURES", "ERRORS"}:
            self._read_line(text)
        elif self._section == "short test summary info" and (found := _SUMMARY.fullmatch(text)):
            self._summary += [found][: _MOST - len(self._summary)]

    def end(self) -> None:
        waiting: defaultdict[str, deque[re.Match[str]]] = defaultdict(deque)
        for summary in self._summary:
            waiting[_name_of(summary["id"])].append(summary)
        for failure in self._failures:
            named = waiting[_bare(failure.title)]
            self._add(failure, named.popleft()["id"] if named else failure.title)
        for summary in (each for summaries in waiting.values() for each in summaries):
            self._add_summary(summary)

    def _count(self, text: str) -> None:
        if totals := _TOTALS.fullmatch(text):
            for number, word in _COUNT.findall(totals["counts"]):
                self.findings.counts[_PLURAL.get(word, word)] = int(number)

    def _read_line(self, text: str) -> None:
        """Parse a line in a section of failures or errors."""
        if (title := _TITLE.fullmatch(text)) and title["title"].strip(" _"):
            self._failure = _Failure(title["title"])
            if len(self._failures) < _MOST:
                self._failures.append(self._failure)
        elif text.startswith("---") and "Captured " in text:
            self._failure = None
        elif self._failure is not None:
            self._detail(self._failure, text)
        elif len(self._lines) < _MOST and (found := _ONE_LINE.fullmatch(text)):
            self._lines.setdefault(" ".join(found["message"].split()), found)  # `--tb=line`

    def _detail(self, failure: _Failure, text: str) -> None:
        if text.startswith("E "):
            said = text[1:].strip()
            if at := _FILE.fullmatch(said):
                failure.syntax = True
                self._set_location(failure, at)
            elif failure.syntax and said:
                failure.said = [said]  # the last line states the syntax error
            elif said and len(failure.said) < _SAID_LINES:
                failure.said.append(said)
        elif at := _PLACE.fullmatch(text) or _FILE.fullmatch(text):
            self._set_location(failure, at)

    def _set_location(self, failure: _Failure, match: re.Match[str]) -> None:
        failure.location = (match["file"], match["line"])
        if self.findings.is_ours(match["file"]):
            failure.ours = failure.location

    def _add(self, failure: _Failure, code: str) -> None:
        file, line = failure.ours or failure.location or (code.partition("::")[0], None)
        self.findings.add(file, line, " ".join(failure.said) or "failed", code=code)

    def _add_summary(self, summary: re.Match[str]) -> None:
        """Add the failure of a test from a line of the short summary.

        With the option `--tb=line`, the output has no section for a failure, but a line with a
        location and a message. The line with the message of the summary has the location of this
        failure.
        """
        message = " ".join((summary["message"] or "failed").split())
        line = self._lines.get(message)
        file, number = (line["file"], line["line"]) if line else (summary["id"], None)
        self.findings.add(file.partition("::")[0], number, message, code=summary["id"])


def _name_of(node_id: str) -> str:
    """The title that pytest gives to the failure of a test: `Class.test[parameters]`."""
    bare, bracket, parameters = node_id.partition("[")
    names = bare.split("::")[1:]
    return ".".join(names) + bracket + parameters if names else node_id


def _bare(title: str) -> str:
    error = _AT.fullmatch(title)
    return error["name"] if error else title
