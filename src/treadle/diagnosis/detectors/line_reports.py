"""Detectors of `Layer.PATTERNS` for lines of a tool result that report a failure.

A word such as "error" counts if its line has a form that is typical of reports (`line_shapes`), or
if the result is one sentence. The word does not count next to a negation, or in text that a tool
only shows, such as the content of a file.
"""

# ruff: noqa: RUF001  (a colon of another script)

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

from treadle.diagnosis.detectors.failure_words import SEVERITIES, kind_of, negated, severity_of
from treadle.diagnosis.detectors.finding import (
    QUOTE_CHARACTERS,
    Detector,
    Hit,
    Kind,
    Layer,
    Severity,
)
from treadle.diagnosis.detectors.line_shapes import ShapeMatch, line_shapes_of, reporting_lines
from treadle.diagnosis.detectors.tool_output import OutputTraits
from treadle.traces.fencing import inline

PATTERNS = Detector("anchored-patterns", 1, Layer.PATTERNS)

LINE_CHARACTERS = 600
"""The maximum number of characters that are read from one line."""
MAX_LINES = 10
"""The maximum number of reporting lines that are counted in one text."""
MAX_SCORED_LINES = 200
"""The maximum number of lines that are read from the beginning of a text.

Only lines with a shape of `line_shapes` count. After the last of these lines, only the last
`TAIL_BYTES` bytes of the text are read.
"""
TAIL_BYTES = 8_192
_SHORT_CHARACTERS, _SHORT_LINES = 400, 4
_DOCUMENT_CHARACTERS, _DOCUMENT_LINES = 1_500, 16
_SENTENCE_WORDS, _SENTENCE_LINES, _DOCUMENT_WORDS = 10, 6, 5

_GOOD = re.compile(
    r"\W*(?:success\w*|succeeded|created|updated|saved|sent|added|deleted|removed|done|ok|okay"
    r"|wrote|written|applied|completed?|scheduled|fixed|merged|closed|opened|resolved|installed"
    r"|uploaded|committed|posted|inserted|moved|copied|renamed|assigned|labell?ed|registered"
    r"|all (?:\w+ )?(?:tests |checks )?pass\w*|passed|found [1-9]\d* |reminder|noted|recorded"
    r"|subscribed|muted|archived|restored|restarted|started|stopped|enabled|disabled|marked|edited"
    r"|the (?:file|ticket|issue|message|email|task|event|pull request) \S+ (?:has been|was) "
    r"(?:created|updated|sent|saved|edited|closed|added))\b"
    r"|\s*[✓✔✅☑]|\[[\w/.-]+ [0-9a-f]{7,}\]",
    re.IGNORECASE,
)
_DONE = re.compile(
    r"(?<!un)(?<!not )\bsuccess(?:ful(?:ly)?)?\b|\b(?:completed|created)[.!]?\s*$", re.IGNORECASE
)
_IS_ERROR = re.compile(
    r"\b(?:error|exception|fehler|erreur|errore|erro|ошибка)s?"
    r"(?:\s*[.!]?\s*$|\s*:| (?:occurred|while|when|during|in|at|on|executing|calling))"
    r"|エラー|错误|錯誤|오류",
    re.IGNORECASE,
)
"""Matches words that report an error. Words that only mention errors do not match."""
_FAILED = re.compile(r"failed\b(?! to)", re.IGNORECASE)
"""Matches the word "failed" in a narrative, such as "The build of Monday failed"."""
_NEXT_SENTENCE = re.compile(r"(?:(?<=[^\W\d])|(?<=^\d))[.!?] ")
_MARKER = re.compile(r"\W*(?:exit|process|command|return|rc|error)", re.IGNORECASE)
_COLON = re.compile("[:：=]")
_FETCHING = frozenset({"curl", "wget", "http"})
_HANDLED = re.compile(
    r"\b(?:fix(?:e[sd])?|resolved|corrected|handled|recovered|retry succeeded|ignored|expected"
    r"|allowed"
    r"|deprecated|suppressed|skipped|known|common|possible|example|sample|previous(?:ly)?"
    r"|example:|handling|rate|rates|count|counts|budget|margin|correction|bars?|types|classes"
    r"|tracking|pages?|threshold|recovery|reporting|propagation|boundar(?:y|ies)|codes|messages"
    r"|log|logs|tolerance|detection|checks?|free|if any|policy|prevention|states?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Line:
    """The beginning of a line, with its position in the text."""

    start: int
    text: str


def hits(text: str, path: str, traits: OutputTraits) -> list[Hit]:
    """Return the most severe hits of `text`, at most one for each kind.

    The run time is linear in the length of the text.
    """
    if traits.repeats:
        return []
    whole = _Whole(text, traits)
    found: dict[Kind, Hit] = {}
    number = 0
    for line in _lines_that_report(text):
        hit = _report(line, path, whole)
        if hit is not None:
            number += 1
            if number > MAX_LINES:
                break
            before = found.get(hit.kind)
            found[hit.kind] = hit if before is None else _joined(before, hit)
    if not found and whole.is_short and not traits.shows_log:
        line = Line(whole.first, text[whole.first :].partition("\n")[0][:LINE_CHARACTERS])
        sentence = _sentence(line, path, whole)
        return [sentence] if sentence else []
    return _worst(list(found.values()))


def _lines_that_report(text: str) -> Iterator[Line]:
    """Yield the lines of `text` whose shape is typical of a report.

    If there are more than `MAX_SCORED_LINES` such lines, only the first ones and those near the end
    are yielded.
    """
    data = text.encode("utf-8", "replace")  # a lone surrogate becomes a "?"
    plain = len(data) == len(text)
    counted = characters = 0
    for begin, end in _candidate_ranges(data):
        characters += begin - counted if plain else len(data[counted:begin].decode())
        counted = begin
        cut = data[begin : min(end, begin + 4 * LINE_CHARACTERS)].decode("utf-8", "ignore")
        yield Line(characters, cut[:LINE_CHARACTERS].rstrip("\r"))


def _candidate_ranges(data: bytes) -> Iterator[tuple[int, int]]:
    position = 0
    for begin, end in islice(reporting_lines(data), MAX_SCORED_LINES):
        position = end + 1
        yield begin, end
    tail = data.find(b"\n", max(position, len(data) - TAIL_BYTES) - 1) + 1
    if tail:
        yield from reporting_lines(data, tail)


class _Whole:
    """The whole text that contains a line, with the traits of the tool that returned the text."""

    def __init__(self, text: str, traits: OutputTraits) -> None:
        self.traits = traits
        self._text = text
        stripped = text.strip()
        begin = text.find(stripped[:1]) if stripped else 0
        self.first = text.rfind("\n", 0, begin) + 1
        """The position of the first line that is not blank. `last` is the position of the last such
        line."""
        self.last = text.rfind("\n", 0, begin + len(stripped)) + 1
        self.characters = len(stripped)
        self.lines = stripped.count("\n") + 1

    @cached_property
    def shown(self) -> bool:
        """Whether the tool only shows this text, which others wrote or may have written."""
        return self.traits.shows or is_document(self._text)

    @property
    def is_short(self) -> bool:
        return self.characters <= _SHORT_CHARACTERS and self.lines <= _SHORT_LINES

    def speaks_in(self, line: Line) -> bool:
        """Return whether the tool itself may have written this line of a text that it shows."""
        return line.start in (self.first, self.last) or self.program_speaks(line) or self.is_page

    def program_speaks(self, line: Line) -> bool:
        """Return whether the line is an error that begins with the name of a program that ran."""
        return line.text.lstrip().partition(":")[0].rstrip() in self.traits.complains

    @cached_property
    def is_page(self) -> bool:
        """Whether the text is a short answer of an HTTP server."""
        if self.characters > _DOCUMENT_CHARACTERS:
            return False
        fetched = self.traits.programs & _FETCHING
        return bool(fetched) or (not self.traits.programs and self._text.lstrip()[:1] == "<")

    def may_hold(self, shape: ShapeMatch, line: Line) -> bool:
        """Return whether a line of this shape in a shown text may come from the tool itself."""
        if self.traits.shows_log or not shape.anchor.in_documents:
            return False
        if self.is_page:
            return bool(self.traits.programs) or shape.anchor.name in {"http", "tag"}
        if self.traits.programs and self.traits.programs <= {"jq", "yq"}:
            return self.lines <= 2
        if line.start != self.first or self.traits.programs:
            return False  # a program that shows text begins its own errors with its name
        if line.text.lstrip().startswith("Traceback (most recent"):
            return True
        short = self.characters <= _DOCUMENT_CHARACTERS and self.lines <= _DOCUMENT_LINES
        return short and shape.anchor.name not in {"log level", "compiler"}


def _report(line: Line, path: str, whole: _Whole) -> Hit | None:
    if whole.shown and not whole.speaks_in(line):
        return None
    for shape in line_shapes_of(line.text):
        if _is_meant(shape, line, whole):
            return _anchored_hit(shape, line, path)
    return None


def _is_meant(shape: ShapeMatch, line: Line, whole: _Whole) -> bool:
    text, anchor = line.text, shape.anchor
    if anchor.kind is Kind.EXIT_CODE:
        ends = line.start in {whole.first, whole.last} and _MARKER.match(text) is not None
        return ends or not whole.shown
    if whole.shown and not whole.program_speaks(line) and not whole.may_hold(shape, line):
        return False
    if anchor.name == "count" and _HANDLED.search(text):
        return False
    if anchor.name == "label":
        colon = _COLON.search(text, shape.end)
        if _HANDLED.search(text, 0, colon.start() if colon else shape.end):
            return False
    return not negated(text, shape.start, shape.end)


def _anchored_hit(shape: ShapeMatch, line: Line, path: str) -> Hit:
    anchor, text = shape.anchor, line.text
    kind = anchor.kind
    severity = Severity.HIGH
    if kind is Kind.HTTP_STATUS:
        code = text[shape.start : shape.end]
        severity = http_severity(int(code))
    elif kind is not Kind.EXCEPTION and not anchor.fixed:
        named = kind_of(text)
        kind = named[0] if named else kind
        severity = severity_of(kind)
    return _hit(kind, severity, anchor.confidence, line=line, at=shape.start, path=path)


def _sentence(line: Line, path: str, whole: _Whole) -> Hit | None:
    """Return a hit if a short result begins with a sentence that reports a failure."""
    text = _NEXT_SENTENCE.split(without_quotes(line.text), maxsplit=1)[0]
    bare = text.strip(" \t.\"'`")
    if bare in {"undefined", "null", "NaN"}:
        kind = Kind.UNDEFINED if bare == "undefined" else Kind.NULL
        return _hit(kind, Severity.LOW, 0.7, line=line, at=0, path=path)
    if whole.program_speaks(line):
        return _hit(Kind.FAILED_TO, Severity.HIGH, 0.85, line=line, at=0, path=path)
    if line.text.strip()[:1] == '"' or "|" in text or _GOOD.match(text) or _DONE.search(text):
        return None
    named = kind_of(_sendable(text))
    if named is None or not _may_be_meant(*named, text, whole):
        return None
    kind, at = named
    return _hit(kind, SEVERITIES[kind], 0.75, line=line, at=at, path=path)


def _may_be_meant(kind: Kind, at: int, text: str, whole: _Whole) -> bool:
    if kind is Kind.ERROR and (whole.lines > 1 or not _IS_ERROR.search(text)):
        return False
    if whole.shown and not _may_be_own(kind, text[:at], text, whole):
        return False
    return len(text[:at].split()) <= _SENTENCE_WORDS and whole.lines <= _SENTENCE_LINES


def _may_be_own(kind: Kind, before: str, text: str, whole: _Whole) -> bool:
    """Return whether the tool itself may have written the only sentence of a text that it shows.

    A sentence of the tool begins with the fault. An error of a program, which `_sentence` has
    already handled, begins with the name of the program instead.
    """
    words = len(before.split())
    if whole.lines > 1 or words > _DOCUMENT_WORDS or kind is Kind.ERROR:
        return False
    if whole.traits.programs:
        return kind in {Kind.FORBIDDEN, Kind.TIMEOUT}
    if words > 2 and kind is Kind.FAILED_TO and _FAILED.match(text, len(before)):
        return False
    vague = {Kind.INVALID, Kind.MISSING, Kind.UNDEFINED, Kind.NULL}
    return kind not in vague or not whole.traits.shows_file


def _sendable(text: str) -> str:
    """Return `text` with `?` in place of each lone surrogate."""
    return text.encode("utf-8", "replace").decode()


def _hit(
    kind: Kind, severity: Severity, confidence: float, *, line: Line, at: int, path: str
) -> Hit:
    text = line.text.rstrip()
    begin = len(text) - len(text.lstrip())
    if at >= begin + QUOTE_CHARACTERS:
        begin = at
    end = min(len(text), begin + QUOTE_CHARACTERS)
    message = f"The result says {inline(text[begin:end])}."
    return Hit(
        PATTERNS, kind, severity, confidence, message, path, line.start + begin, line.start + end
    )


def http_severity(code: int) -> Severity:
    """Return the severity of an HTTP status.

    The severity is high for 401, for 403, and for 500 and above. It is medium for all others.
    """
    return Severity.HIGH if code in {401, 403} or code >= 500 else Severity.MEDIUM


def _joined(one: Hit, other: Hit) -> Hit:
    better = max(one, other, key=lambda hit: (hit.severity.weight, hit.confidence))
    return replace(better, count=one.count + other.count)


def _worst(found: list[Hit]) -> list[Hit]:
    """Return the hits of the highest severity. Exit codes count only if there is no other hit."""
    why = [hit for hit in found if hit.kind is not Kind.EXIT_CODE]
    most = max((hit.severity.weight for hit in why), default=0)
    return [hit for hit in why if hit.severity.weight == most] or found


_FEWEST_LINES = 5
_LOOKED_AT = 200
"""The number of lines at the beginning that decide whether a text is a document."""
_LINE_CHARACTERS = 300

_OPENINGS = (
    "<!doctype",
    "<html",
    "<document",
    "<file",
    "<source",
    "<search_result",
    "<page",
    '<code="',
    "<results>",
    "diff --git ",
    "--- a/",
    "```",
    "%pdf",
)
_TITLE = re.compile(r"#{1,3} .*\n\s*\n")
_NUMBERED = re.compile(r"\s*\d+(?:[:|→\t]|\s\|)")
_LOCATED = re.compile(
    r"[^\s:]{1,200}:\d+[:-](?!\d*:? ?(?:fatal |syntax )?(?:error|warning|note|info)\b)"
)
_STAMPED = re.compile(
    r"\[?(?:\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d\b|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d)"
    r'|\d{1,3}(?:\.\d{1,3}){3} - |\{"(?:ts|time|timestamp|level)":|(?:time|ts)='
)
_CODE = re.compile(
    r"\s*(?:def |class |import |from \S+ import|function |const |let |var |return\b|if \(|\} ?else"
    r"|try\b|except\b|\} catch|raise |throw |public |private |fn |pub |use |impl |match |package "
    r"|func |#include|//|/\*|\*/|\}\)?;?\s*$|@\w+\s*$|async |await |export |elif |while |for \()"
)
_MARKDOWN = re.compile(r"#{1,6} \S|```|\s*[-*] \[?[`*\w]|\|.*\||\s*\d+\. \w|> ")
_FRAME = re.compile(r'\s*File ".*", line \d+|\s*at \S+.*[(:]|\s*\d+: 0x|\s+in \S+ \(')
_QUOTED = re.compile(
    r"\"[^\"\n]{0,200}\"|(?<!\w)'[^'\n]{0,200}'(?!\w)|`[^`\n]{0,200}`|“[^”\n]{0,200}”"
    r"|«[^»\n]{0,200}»"
)


def is_document(text: str) -> bool:
    """Return whether `text` looks like a document, a log or source code, rather than a report.

    Such a text has a beginning that is typical of documents, for example `<html`. Or many of its
    lines begin with a number, a position or a time, or look like source code or Markdown. A text of
    fewer than five lines needs a typical beginning.
    """
    head = text[:400].lstrip()
    if head[:16].lower().startswith(_OPENINGS) or _TITLE.match(head):
        return True
    lines = [line[:_LINE_CHARACTERS] for line in text[:40_000].split("\n")[:_LOOKED_AT]]
    lines = [line for line in lines if line.strip()]
    if len(lines) < _FEWEST_LINES or any(map(_FRAME.match, lines[:12])):
        return False
    most = len(lines) * 0.6
    return (
        sum(map(bool, map(_NUMBERED.match, lines))) >= most
        or sum(map(bool, map(_LOCATED.match, lines))) >= most
        or sum(map(bool, map(_STAMPED.match, lines))) >= most
        or sum(map(bool, map(_CODE.match, lines))) >= len(lines) * 0.4
        or sum(map(bool, map(_MARKDOWN.match, lines))) >= most
    )


def without_quotes(text: str) -> str:
    """Return `text` with spaces in place of quoted parts, or unchanged if nothing else is left."""
    bare = _QUOTED.sub(lambda found: " " * len(found[0]), text)
    return bare if any(map(str.isalnum, bare)) else text
