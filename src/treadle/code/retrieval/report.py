"""Reads a report, such as an issue: its words about code, and the code positions it names.

Templates, versions, logs and links are full of rare words that do not describe the code. Therefore
each line belongs to a zone, and the zone of a word decides its weight.
"""

import re
from collections.abc import Iterator
from enum import Enum
from itertools import chain, islice
from typing import NamedTuple

from treadle.code.model import TEXT_LANGUAGES
from treadle.code.terms import query_terms


class Zone(Enum):
    """The type of a line of a report."""

    TITLE = "title"
    PROSE = "prose"
    CODE = "code"
    LOG = "log"
    """A line of a stack trace, or one that begins with a time or a log level."""
    ASIDE = "aside"
    """A line of a template, a version, or a check box, which says nothing about the code."""


WEIGHTS = {Zone.TITLE: 1.0, Zone.PROSE: 0.67, Zone.CODE: 0.67, Zone.LOG: 0.1}
"""The weight of a word in each zone. If several zones contain a word, the highest weight counts."""


class Report(NamedTuple):
    """The text of each zone."""

    title: str
    prose: str
    code: str
    log: str

    @property
    def gist(self) -> str:
        """The text that the author wrote, without code and logs."""
        return f"{self.title}\n{self.prose}"

    def terms(self) -> dict[str, float]:
        """Return the distinct terms with their weights. Terms of the title come first."""
        found: dict[str, float] = {}
        for zone, text in zip(WEIGHTS, self, strict=True):
            for term, weight in query_terms(text).items():
                found[term] = max(found.get(term, 0.0), weight * WEIGHTS[zone])
        return found


def read_report(text: str) -> Report:
    """Split a text into zones. A text of one line is a title."""
    lines: dict[Zone, list[str]] = {zone: [] for zone in Zone}
    for zone, line in _lines(text):
        lines[zone].append(line)
    return Report(*("\n".join(lines[zone]) for zone in WEIGHTS))


_ADDRESS = re.compile(r"\b(?:https?|ftp)://[^\s)>\]\"']+|!\[[^\]\n]{0,200}\]")

_CHECK_BOX = re.compile(r"[-*+] \[[ xX]?\]")

_HEADING = re.compile(r"(?:#{1,6}\s|\*\*|__|[-*+\d.]{1,3}\s)?\s*([^`]{1,60})")

_MARKED_HEADING = re.compile(r"(?:(#{1,6})\s.*|\*\*[^*]+\*\*\s?:?)")

_BOLD = 7
"""The level of a bold line, which is below the levels of all headings."""

_LONGEST_HEADING = 80

_LONGEST_PLAIN = 40
"""The maximum number of characters of a heading that has no mark such as `#`."""

_WORDS = re.compile(r"[^\W\d_]+")

_VERSION = re.compile(
    r"[-*+>|]? ?[\w@/. ()\[\]*-]{1,60}(?:==|[:=|@ ]) ?"
    r"[\^~<>=v\"`' ]{0,4}\d+\.\d[\w.+-]*[\"`',| ]*"
)

_MESSAGE = re.compile(
    r"(?:Caused by: |Uncaught |Fatal )?[\w.$]*(?:Error|Exception|error|panic)\b[\w.]*:\s"
)
"""The message of an error, which counts as prose and not as a log."""

_TRACE = re.compile(
    r"(?:at [\w$.<>\[\] /@\\~-]+[(:]|File \"|#\d+\s|\.\.\. \d+ more|Caused by:"
    r"|Traceback \(most|-{2,}>|\d+ [|:]|\d+: [\w<]+::|thread '[^']{0,60}' panicked"
    r"|(?:from )?[\w./\\~-]+\.\w{1,5}:\d+)"
)

_LOGGED = re.compile(
    r"\[?(?:\d{4}[-/]\d\d[-/]\d\d|\d\d:\d\d:\d\d"
    r"|(?:DEBUG|INFO|TRACE|WARN(?:ING)?|ERROR)\b[\]: ])"
)

_INDENTED = ("    ", "\t", ">>>")

_TEMPLATE = frozenset(
    {
        "a", "about", "actual", "additional", "additionally", "affected", "after", "also",
        "and", "any", "are", "as", "asking", "aware", "be", "been", "before", "behavior",
        "behaviour", "below", "browser", "browsers", "bug", "can", "checklist", "code",
        "codebase", "command", "community", "concerns", "conduct", "config", "configuration",
        "context", "contribute", "current", "describe", "description", "desired", "detailed",
        "details", "did", "do", "does", "enter", "environment", "error", "errors", "example",
        "existing", "expect", "expected", "explain", "explanation", "feature", "first", "fix",
        "for", "from", "full", "general", "happen", "happened", "happening", "happens", "have",
        "how", "i", "if", "in", "info", "information", "is", "issue", "issues", "it", "kind",
        "link", "live", "log", "logs", "machine", "message", "messages", "minimal", "more",
        "name", "node", "note", "observed", "occur", "of", "on", "operating", "option",
        "optional", "or", "os", "other", "output", "package", "packages", "platform", "please",
        "possible", "pr", "prerequisite", "problem", "project", "proposal", "proposals",
        "proposed", "provide", "python", "question", "reference", "references", "related",
        "relevant", "repl", "report", "reports", "repository", "reproduce", "reproducible",
        "reproducing", "reproduction", "request", "required", "result", "results", "run",
        "runtime", "same", "sample", "screenshot", "screenshots", "search", "searched",
        "searching", "section", "setup", "severity", "similar", "snippet", "software",
        "solution", "source", "stack", "standalone", "step", "steps", "submit", "submitting",
        "suggested", "suggestion", "summary", "system", "template", "test", "tested", "that",
        "the", "this", "to", "trace", "traceback", "tracking", "type", "usage", "use", "used",
        "using", "version", "versions", "want", "was", "were", "what", "when", "where", "which",
        "willing", "with", "work", "would", "you", "your",
    }
)  # fmt: skip
"""Words in headings of templates. A heading with another word was written by the author."""

_ENVIRONMENT = frozenset(
    {
        "asking", "checklist", "conduct", "dependencies", "environment", "machine", "platform",
        "setup", "severity", "system", "version", "versions", "willing",
    }
)  # fmt: skip
"""Words of headings whose sections say nothing about the code."""


def _lines(text: str) -> Iterator[tuple[Zone, str]]:
    """Yield the lines with their zones, without HTML comments and addresses."""
    section, level = Zone.PROSE, 0
    fence = ""
    title = True
    for line in without_comments(text).splitlines():
        stripped = line.strip()
        if stripped.startswith(("```", "~~~")):
            fence = "" if fence and stripped.startswith(fence) else fence or stripped[:3]
        elif title and stripped:
            title = False
            yield Zone.TITLE, _ADDRESS.sub(" ", line)
        elif not fence and (words := _template_heading(stripped)):
            section = Zone.PROSE if _ENVIRONMENT.isdisjoint(words) else Zone.ASIDE
            level = _level(stripped)
        elif stripped:
            if not fence and 0 < _level(stripped) <= (level or _BOLD):
                section = Zone.PROSE
            shown = _ADDRESS.sub(" ", line)
            yield _zone(shown, section, fenced=bool(fence)), shown


def _level(line: str) -> int:
    """Return the level of a heading.

    The level is the number of `#` marks of the heading, or `_BOLD` for a bold line. The result is 0
    for other lines.
    """
    match = _MARKED_HEADING.fullmatch(line)
    return len(match[1] or "#" * _BOLD) if match else 0


def _zone(line: str, section: Zone, *, fenced: bool) -> Zone:
    words = " ".join(line.split())  # with a run of blanks, a pattern would try every split of it
    if _MESSAGE.match(words):
        return Zone.PROSE
    if _TRACE.match(words) or _LOGGED.match(words):
        return Zone.LOG
    if section is Zone.ASIDE or _CHECK_BOX.match(words) or _is_version(words, fenced=fenced):
        return Zone.ASIDE
    return Zone.CODE if fenced or line.startswith(_INDENTED) else Zone.PROSE


def _is_version(line: str, *, fenced: bool) -> bool:
    """Whether a line states the version of a dependency.

    In a fenced block a number with a dot can also be a fraction in code.
    """
    return bool(_VERSION.fullmatch(line)) and (not fenced or line.count(".") > 1)


def _template_heading(line: str) -> set[str]:
    """Return the words of a template heading, or an empty set for other lines."""
    marked = line.startswith(("#", "**")) or line.endswith((":", "?", "**"))
    if len(line) > (_LONGEST_HEADING if marked else _LONGEST_PLAIN):
        return set()
    match = _HEADING.fullmatch(line)
    words = {word.lower() for word in _WORDS.findall(match[1])} if match else set()
    few = marked or len(words) <= 3
    return words if few and words <= _TEMPLATE else set()


def without_form(text: str) -> str:
    """Return `text` without HTML comments and check boxes."""
    lines = without_comments(text).split("\n")
    return "\n".join(line for line in lines if not _CHECK_BOX.match(line.strip()))


def without_comments(text: str) -> str:
    """Return `text` without HTML comments. An unclosed comment does not remove anything."""
    kept: list[str] = []
    at = 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start)) >= 0:
        kept.append(text[at:start])
        at = end + len("-->")
    return "".join([*kept, text[at:]])


_MAX_FRAMES = 60

_LONGEST = 200
"""The maximum number of characters of a path. Longer texts without blanks are data."""

_RUN = re.compile(r"[\w~.@+$\\/:-]+")

_LINE_AFTER = re.compile(r"\"?(?:,| on)? line (\d{1,7})|\((\d{1,7})\)|#L(\d{1,7})| (\d{1,7})\b")

_FUNCTION_AFTER = re.compile(r"[^\n]{0,20}?\b(?:in|:in) [`'\"]?([^\W\d][\w.]{0,80})")

_BLOB = re.compile(
    r"https?://[^\s/]+/[^\s/]+/[^\s/]+/(?:blob|tree)/[^\s/]+/([^\s#)?\]]+)(?:#L(\d{1,7}))?"
)

_URL = re.compile(r"\b(?:https?|ftp)://[^\s)>\]\"']+")

_CAUSE = re.compile(r"^[ \t>|]{0,20}Caused by:", re.MULTILINE)
"""The start of an exception that caused the exception before it, and has deeper calls."""


class Frame(NamedTuple):
    """A position in a file: a call of a stack trace, or a path in the text."""

    path: str
    line: int | None
    function: str
    is_call: bool
    """Whether the position is a call of a stack trace."""
    is_python: bool = False
    """Whether the position is from a Python traceback, which lists the deepest call last."""


def frames_in(text: str) -> tuple[Frame, ...]:
    """Return the positions that a text names. The deepest call of a stack trace comes first."""
    causes = reversed(_CAUSE.split(without_form(text)))
    frames = list(islice(chain.from_iterable(map(_frames, causes)), _MAX_FRAMES))
    python = [frame for frame in reversed(frames) if frame.is_python]
    return (*python, *(frame for frame in frames if not frame.is_python))


def _frames(text: str) -> Iterator[Frame]:
    for match in _BLOB.finditer(text):
        yield Frame(match[1], int(match[2]) if match[2] else None, "", is_call=False)
    rest = _URL.sub(" ", text)
    before, end_before = "", -1
    for match in _RUN.finditer(rest):
        run = match.group()
        start, end = match.span()
        if "." in run and len(run) <= _LONGEST:
            follows = start - end_before <= 2 and rest[start - 1 : start] == "("
            frame = _frame(run, rest[end : end + 120], before if follows else "")
            if frame is not None:
                yield frame
        before, end_before = run, end


def _frame(run: str, after: str, caller: str) -> Frame | None:
    """Return the position that a text without blanks names, or None.

    `caller` is the text before an opening bracket: `pkg.Class.method(Class.java:12)`.
    """
    if run[1:3] in (":\\", ":/"):
        run = run[2:]
    path, *numbers = run.rstrip(".:,-").split(":")
    path = path.replace("\\", "/").lstrip("~./")
    name = path.rpartition("/")[2]
    if "." not in name or not _is_code(name):
        return None
    line = int(numbers[0]) if numbers and numbers[0].isdecimal() and len(numbers[0]) < 8 else None
    if line is None and (match := _LINE_AFTER.match(after)) is not None:
        line = int(next(filter(None, match.groups())))
    function = caller.rpartition(".")[2]
    if numbers[-1:] == ["in"]:  # Ruby: file.rb:12:in `method'
        after = f" in{after}"
    if caller and "/" not in path:
        package = caller.rpartition("/")[2].split(".")[:-2]
        path = "/".join([*package, name])
    elif not caller and (inside := _FUNCTION_AFTER.match(after)) is not None:
        function = inside[1].rpartition(".")[2]
    python = after.startswith(('", line', ", in "))
    return Frame(path, line, function, is_call=line is not None, is_python=python)


def _is_code(name: str) -> bool:
    # imported late, since most reports do not need it
    from treadle.code.languages import Language, language_of

    language = language_of(name)
    return isinstance(language, Language) and language.name not in TEXT_LANGUAGES
