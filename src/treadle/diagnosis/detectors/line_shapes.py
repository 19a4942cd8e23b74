"""The shapes of lines that report a failure.

A shape is a pattern in the syntax of RE2. It is matched against one line at a time.
"""

# ruff: noqa: RUF001  (characters and words of other scripts)

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import re2  # type: ignore[import-untyped]  # it ships no types

from treadle.diagnosis.detectors.finding import Kind

_MARKS = r"(?:[│╷┃|\[(✗✘✕❌✖⚠\x{FE0F}🚫⛔❗×!🔴💥][ \t\r]*|\*{3} )"
_START = rf"^[ \t\r]*{_MARKS}{{0,4}}"
_TIME = (
    r"(?:\[?\d{4}[-/]\d\d[-/]\d\d[T ][\d:.,]+(?:Z|[+-]\d\d:?\d\d)?\]?|\[?\d\d:\d\d:\d\d[\d.,]*\]?)"
)
_LABELS = (
    "errors?|error code|err|failure|fatal|panic|exception|fehler|erreur|errore|erro|ошибка|fout"
    "|fejl|virhe|błąd|chyba|hata|lỗi|помилка|σφάλμα|eroare|hiba|kesalahan"
)
_UNSPACED_LABELS = "エラー|错误|錯誤|오류|שגיאה|خطأ|त्रुटि|ข้อผิดพลาด"
_CLASS = r"(?:[A-Za-z_$][\w$]*(?:\.|::|\\|/))*[A-Za-z_$]?[\w$]*?"
_ENDINGS = "Error|Exception|Failure|Fault|Panic|Interrupt|Refused|Timeout|Denied|NotFound|Undefined"
_REASONS = (
    "bad request|unauthori[sz]ed|payment required|forbidden|not found|method not allowed"
    "|not acceptable|proxy authentication required|request timeout|conflict|gone"
    "|precondition failed|payload too large|uri too long|unsupported media type"
    "|unprocessable (?:entity|content)|locked|too many requests|internal server error"
    "|not implemented|bad gateway|service (?:temporarily )?unavailable|gateway time-?out"
    "|client error|server error"
)
_FAULTS = (
    "(?:fatal )?error|fatal|cannot|can't|could not|couldn't|unable to|failed to|no such"
    "|permission denied|not found|command not found|invalid|unknown|unrecognized|illegal"
    "|missing|unexpected|connection|connect to|operation not permitted|is a directory"
    "|not a directory|file exists|access denied|syntax error|timeout|timed out|no space"
    "|too many|bad |unsupported|broken pipe|host key|\\(\\d+\\) |option|undefined"
    "|no module named|no devices|no files|no match|unbound|attempt to|\\[emerg\\]|\\[crit\\]"
    "|\\[alert\\]|\\[error\\]"
    "|kommando nicht gefunden|datei oder|aucun fichier|no existe|commande introuvable"
)


@dataclass(frozen=True, slots=True)
class LineShape:
    """A form of line that reports a failure.

    If the pattern has a group, the group contains the word or the number that reports the failure.
    Next to a negation, this word does not count.
    """

    name: str
    kind: Kind
    """The kind of the failure, unless words of the line name another kind."""
    confidence: float
    pattern: str
    fixed: bool = False
    """Whether `kind` is final. If it is, words of the line cannot change it."""
    in_documents: bool = True
    """Whether such a line may be the tool's own error in a result that shows other texts."""


LINE_SHAPES: tuple[LineShape, ...] = (
    LineShape(
        "label",
        Kind.ERROR,
        0.95,
        rf"(?i){_START}(?:[a-zа-яё][\w./'’-]* ){{0,3}}?(?:[a-z]+\()?({_LABELS})"
        r"(?:\[\w+\]|[ \t\r]?\([^()\n]+\)|[ \t\r]#?[A-Z]{0,8}-?\d{1,7}(?:\.\d+)?"
        r"|(?:[ /][\w./:'\"`@#<>=-]+){1,8}?)?[ \t\r]?[:：]+(?:[ \t\r]|$|\d|[\"'`(\[{])",
    ),
    LineShape("label", Kind.ERROR, 0.95, rf"{_START}({_UNSPACED_LABELS})[ \t\r]?[:：]"),
    LineShape(
        "log level",
        Kind.ERROR,
        0.9,
        rf"^[ \t\r]*(?:{_TIME}[ \t\r]*[-|]?[ \t\r]*)?(?:[\w.:/-]+[ \t\r]+[-|][ \t\r]+)?"
        r"\[?(ERROR|FATAL|CRITICAL|SEVERE|EMERG|PANIC)\]?(?:[ \t\r]|[:|-][ \t\r]|\(|\[|$)",
    ),
    LineShape("log level", Kind.ERROR, 0.9, r"(?i)\blevel=\"?(error|fatal|critical)\b"),
    LineShape(
        "package manager",
        Kind.ERROR,
        0.95,
        r"^[ \t\r]*(?:npm (?:ERR!|error)|error [A-Z][a-z]|ERR_PNPM_\w+|E: [A-Z]|YN\d{4}: .*Error)",
    ),
    LineShape("test report", Kind.ERROR, 0.95, r"^E {3}[ \t\r]*\S"),
    LineShape(
        "compiler",
        Kind.ERROR,
        0.95,
        r"(?i)^[ \t\r]*[^\s:][^:\n]*(?::[^:\s]+)?(?::\d+(?::\d+)?|\(\d+(?:,\d+)?\))"
        r"[ \t\r]?(?::| -)?[ \t\r]*"
        r"(?:fatal |syntax )?(error)(?:[ \t\r]+[A-Z]{1,6}\d+|\[[\w-]+\])?[ \t\r]?:",
    ),
    LineShape(
        "program",
        Kind.FAILED_TO,
        0.9,
        rf"(?i)^[ \t\r]*(?:[\w./+@-]+(?:\[\d+\])?|line \d+|[A-Z]:\\[^:\n]+) ?: +"
        rf"(?:[^:\n]+: )*?({_FAULTS})",
    ),
    LineShape(
        "program",
        Kind.FAILED_TO,
        0.9,
        r"(?i)^\S+: .+: ((?:no such|permission|"
        r"command not|not a |is a |connection |operation |file exists|name or service|"
        r"datei oder|kommando|aucun|no existe|broken)[^:\n]*)$",
    ),
    LineShape(
        "exception",
        Kind.EXCEPTION,
        0.95,
        r"^[ \t\r]*(?:\[?[A-Za-z ]+\]?: )?(?:Caused by: |Uncaught (?:\(in promise\) )?"
        r"|Unhandled \w+: "
        r"|[Tt]hrow(?:n|s): |uncaught exception: |Error: |raised )?"
        rf"(?:[A-Za-z_$][\w$]*(?:\.|::|\\))*[A-Z][\w$]*(?:{_ENDINGS})(?: \[\w+\])?"
        r"(?:(?:: ?|\()\S|:?[ \t\r]*$| at line | \(HTTP)",
    ),
    LineShape(
        "crash",
        Kind.EXCEPTION,
        0.97,
        r"^[ \t\r]*\[?(?:Traceback \(most recent call last\)|Exception in thread "
        r"|thread '[^']*' (?:\(\d+\) )?"
        r"panicked at|panic: |goroutine \d+ \[|fatal error: |Unhandled (?:exception|rejection"
        r"|promise"
        r"|Rejection|Promise)|Segmentation fault|Bus error|Aborted|Killed|PHP (?:Fatal|Parse) "
        r"|(?:PHP )?Fatal error: |\*\* \([\w.]+\) |terminate called |Assertion failed"
        r"|[Ss]tack ?trace(?:back)?:|Uncaught |UnhandledPromiseRejection"
        r"|\(node:\d+\) (?:Unhandled|Uncaught)"
        r"|FATAL |Execution halted|Execution of .* aborted|Error in .+ : "
        r"|# A fatal error has been detected"
        r"|java\.lang\.\w+|Process crashed)",
    ),
    LineShape(
        "crash",
        Kind.EXCEPTION,
        0.97,
        r"(?:\(core dumped\)|\([A-Z]\w*(?:::\w+)*(?:Error|Exception)\)[ \t\r]*$"
        r"|Assertion [`'].*failed"
        r"|line \d+:[ \t\r]+\d+ (?:Killed|Aborted|Segmentation fault|Terminated))",
    ),
    LineShape(
        "http",
        Kind.HTTP_STATUS,
        0.9,
        rf"(?i){_START}(?:(?:[a-z][\w.'-]* ){{0,6}}?(?:HTTP/[\d.]+|http|status|code|error|got"
        rf"|received"
        rf"|returned|response|failed|with|-)?(?: error| status| code| response)*[:=]?[ \t\r]+)?\(?"
        rf"([45]\d\d)\)?[ \t\r:,–—-]+(?:{_REASONS})",
    ),
    LineShape("http", Kind.HTTP_STATUS, 0.95, r"^[ \t\r]*(?:< )?HTTP/[\d.]+ ([45]\d\d)\b"),
    LineShape(
        "http",
        Kind.HTTP_STATUS,
        0.85,
        r"(?i)^.*?\b(?:status(?: ?code)?|http(?: error| status| code)*|returned error"
        r"|responded with|returned)(?: of| was| is)?[ :=(]+([45]\d\d)\b",
    ),
    LineShape(
        "http",
        Kind.HTTP_STATUS,
        0.9,
        r"(?i)<(?:title|h1|h2|center)>(?:<h1>)?[ \t\r]*(?:error )?([45]\d\d)[ :-]",
    ),
    LineShape(
        "exit code",
        Kind.EXIT_CODE,
        0.95,
        r"(?i)^(?:.*?[^\w\n])?(?:exit(?:ed|s)?(?: with)?(?: non-?zero)?(?: exit)?(?: status| code"
        r"|_code|code)+|non-zero exit status|return(?:ed|code| code| status)+|exited with"
        r"|terminated (?:with|by)(?: signal| exit code)?)(?:[ \t\r]?[:=]+[ \t\r]*"
        r"|[ \t\r]+)\(?(-?(?:[1-9]\d{0,9}"
        r"|0x[\da-f]*[1-9a-f][\da-f]*))\b",
        fixed=True,
    ),
    LineShape(
        "exit code",
        Kind.EXIT_CODE,
        0.95,
        r"^[ \t\r]*\[?(?:exit|rc|EXIT)[ :=]+([1-9]\d{0,2})\]?[ \t\r]*$",
        fixed=True,
    ),
    LineShape("exit code", Kind.EXIT_CODE, 0.95, r"^\S*make(?:\[\d+\])?: (\*\*\*) "),
    LineShape(
        "test report",
        Kind.FAILED_TO,
        0.9,
        r"^[ \t\r]*(?:FAILED\b|FAIL\b|--- FAIL|not ok \d|ERROR:? |✗ |✖ \d+ |BUILD FAIL(?:ED|URE)"
        r"|Build FAILED"
        r"|error: test failed|\d+\) (?:Failure|Error):?$|[┌│]* *(?:FAIL) )",
        in_documents=False,
    ),
    LineShape(
        "test report",
        Kind.FAILED_TO,
        0.9,
        r"(?:\.\.\. ?FAILED[ \t\r]*$|test result: FAILED|:[ \t\r]*FAILED[ \t\r]*$"
        r"|^\[?ERROR\]? .*FAILURE!?"
        r"|\bFAILED \((?:failures|errors)=|^[ \t\r]*BUILD FAIL|[ \t\r>]FAILED$"
        r"|[.…]{3} ?(?:failed|FAIL)[ \t\r]*$)",
        in_documents=False,
    ),
    LineShape(
        "count",
        Kind.FAILED_TO,
        0.8,
        r"(?i)^.*?(?:^|[ \t\r=(,:•|])([1-9]\d*(?:,\d{3})*) (?:[a-z]+ )?"
        r"(?:failed|failures?|failing|errors?|failed tests?|problems?|broken|offenses?"
        r"|violations?)(?:[ \t\r,.);:!|]|$)",
        in_documents=False,
    ),
    LineShape(
        "count",
        Kind.FAILED_TO,
        0.8,
        r"(?i)^.*?\b(?:failed|failures?|errors?"
        r"|fail)[ \t\r]?[:=][ \t\r]?([1-9]\d*)(?:[ \t\r,.);|]|$)",
        in_documents=False,
    ),
    LineShape(
        "field",
        Kind.ERROR,
        0.9,
        r"(?i)^(?:[ \t]*|.*[ \t]|.*[{,(][ \t]*)(?:[\"'](error|errors|error_message|exception"
        r"|errmsg|err)"
        r"[\"'][ \t]?(?:: ?|=> ?)|(?:error|err|errmsg|exception)=)(?:[ \t]?[\"'{\[(][ \t]?"
        r"[^\s\"'}\]]|[a-z]{2,}[ _])",
    ),
    LineShape(
        "field",
        Kind.FAILED_TO,
        0.95,
        r"(?i)[{,][ \t\r]*[\"']?(?:ok|success|succeeded|successful)[\"']?[ \t\r]?(?:=|: ?"
        r"|=> ?)(false)\b",
    ),
    LineShape(
        "field",
        Kind.FAILED_TO,
        0.95,
        r"(?i)[{,][ \t\r]*[\"']?(?:is_?error)[\"']?[ \t\r]?(?:=|: ?|=> ?)(true)\b",
    ),
    LineShape(
        "field",
        Kind.FAILED_TO,
        0.85,
        r"(?i)^[ \t\r]*[\"']?(?:\w+ )?(?:status|result|state|outcome"
        r"|conclusion)[\"']?[ \t\r]?[:=][ \t\r]*[\"'`*]*"
        r"(error(?:ed)?|fail(?:ed|ure|ing)?|crash(?:ed|loopbackoff)|timed?[ _-]?out|unauthorized"
        r"|forbidden|not[ _]found|rejected|aborted|denied)\b",
    ),
    LineShape(
        "tag",
        Kind.ERROR,
        0.95,
        r"(?i)^[ \t\r]*<(?:[a-z]+[_:-])?(error|fault|exception|stderr-error)"
        r"(?:[ _][^<>]*)?>[ \t\r]*(?:$|[^<\s]|<(?:code|message|type|faultcode|faultstring|reason))",
    ),
    LineShape(
        "statement",
        Kind.ERROR,
        0.9,
        r"(?i)^[ \t]*(?:(?:i|we|the [a-z]+) )?(?:have |has )?(?:encountered|got|received"
        r"|hit) (?:an? )?"
        r"(?:[a-z]+ )?(error|exception)|^[ \t]*(?:there was |sorry, )?an? (?:[a-z]+ )?(?:error"
        r"|exception) "
        r"(?:has )?(?:occurred|happened|while|when|during|in|running|executing|calling)"
        r"|^[ \t]*error "
        r"(?:while|when|during|executing|calling|running|invoking|reading|parsing|fetching"
        r"|loading) ",
    ),
    LineShape(
        "parser",
        Kind.INVALID,
        0.9,
        r"^[ \t]*(?:Expecting (?:value|property name|'.' delimiter)|Unterminated string|Extra data)"
        r".*: line \d+|^.+ at \S+ line \d+\.?[ \t\r]*$",
    ),
    LineShape(
        "compiler",
        Kind.ERROR,
        0.9,
        r"^[ \t]*(?:\d+:\d+[ \t]+)?(error)(?:[ \t]+[•·][ \t]|[ \t]{2,}\S)",
    ),
    LineShape("program", Kind.FAILED_TO, 0.95, r"^[\w./-]+: line \d+: "),
    LineShape("outcome", Kind.FAILED_TO, 0.8, r"(?i)^.*\b(failed): \S"),
    LineShape("terse", Kind.ERROR, 0.9, r"^! [A-Z]|^\((error|ERR)\) |\((error|fatal)\):"),
    LineShape(
        "test report",
        Kind.FAILED_TO,
        0.9,
        r"^[ \t]*Failed (?:tasks|tests|jobs|steps|checks)\b|\b[1-9]\d* files? would be reformatted",
        in_documents=False,
    ),
    LineShape("conflict", Kind.FAILED_TO, 0.95, r"^CONFLICT \(|^Automatic merge failed"),
    LineShape(
        "compiler",
        Kind.ERROR,
        0.85,
        r"^[ \t]*\S+\.\w+:\d+:\d+:? (?:[A-Z]{1,4}\d{2,4} |[CEFRW]: |Error )"
        r"|^\S+\.go:\d+:\d+: [a-z]",
    ),
    LineShape("loss", Kind.FAILED_TO, 0.9, r"\b100(?:\.0)? ?% packet loss"),
    LineShape(
        "database",
        Kind.ERROR,
        0.95,
        r"\b(?:ORA-\d{5}|SQLSTATE\[?[ \t\r]?\w{5}|PLS-\d{5})\b"
        r"|^Msg \d+, Level 1[1-9]|^ERROR \d{4} \(\w{5}\)",
    ),
    LineShape(
        "system code",
        Kind.ERROR,
        0.9,
        r"^.*?(?:^|[ \t\r:(\[\"'])(?:E(?:NOENT|ACCES|CONNREFUSED|CONNRESET|TIMEDOUT|NOTFOUND|PERM"
        r"|EXIST|ADDRINUSE|HOSTUNREACH|AI_AGAIN|PIPE|ISDIR|NOTDIR|MFILE|RESOLVE|LIFECYCLE)"
        r"|NXDOMAIN|SERVFAIL|net::ERR_\w+|NS_ERROR_\w+|ERR_[A-Z]{3,}_\w+|CERTIFICATE_VERIFY_FAILED"
        r"|SSL_ERROR\w*|CrashLoopBackOff|ImagePullBackOff|OOMKilled|DEADLINE_EXCEEDED"
        r"|PERMISSION_DENIED|UNAUTHENTICATED|RESOURCE_EXHAUSTED|NOT_FOUND)\b",
    ),
)


def _of_many_lines() -> str:
    """Return one pattern that finds lines of all shapes in a text of many lines.

    The range of a match may include adjacent lines.
    """
    return "|".join(
        f"(?im:{anchor.pattern[4:]})"
        if anchor.pattern.startswith("(?i)")
        else f"(?m:{anchor.pattern})"
        for anchor in LINE_SHAPES
    )


@dataclass(frozen=True, slots=True)
class _Machines:
    any_shape: Any
    """The pattern set that finds the shapes of a line."""
    shapes: tuple[Any, ...]
    groups: tuple[int, ...]
    anywhere: Any


@cache  # compiling is slow, and most processes do not need the patterns
def _machines() -> _Machines:
    any_shape = re2.Set.SearchSet()
    for anchor in LINE_SHAPES:
        any_shape.Add(anchor.pattern)
    any_shape.Compile()
    shapes = tuple(re2.compile(anchor.pattern) for anchor in LINE_SHAPES)
    options = re2.Options()
    options.never_capture = True
    options.max_mem = 64 << 20
    options.log_errors = False
    return _Machines(
        any_shape,
        shapes,
        tuple(int(shape.groups > 0) for shape in shapes),
        re2.compile(_of_many_lines().encode(), options),
    )


_RANKS = tuple(-anchor.confidence for anchor in LINE_SHAPES)


@dataclass(frozen=True, slots=True)
class ShapeMatch:
    """A shape that matches a line.

    The range is that of the pattern's group, or of the whole match if there is no group.
    """

    anchor: LineShape
    start: int
    end: int


def line_shapes_of(line: str) -> Iterator[ShapeMatch]:
    """Yield the shapes that match `line`, in descending order of confidence."""
    machines = _machines()
    for number in sorted(machines.any_shape.Match(line) or (), key=_RANKS.__getitem__):
        found = machines.shapes[number].search(line)
        word_range = found.span(machines.groups[number])
        yield ShapeMatch(LINE_SHAPES[number], *(word_range if word_range[0] >= 0 else found.span()))


def reporting_lines(data: bytes, position: int = 0) -> Iterator[tuple[int, int]]:
    """Yield the byte range of each line of a UTF-8 text, in order, if the line may have a shape.

    `position` is the beginning of the first line to search.

    """
    anywhere = _machines().anywhere
    while position < len(data) and (match := anywhere.search(data, position)) is not None:
        begin = data.rfind(b"\n", position, match.start()) + 1 or position
        stop = data.find(b"\n", match.end())
        stop = len(data) if stop < 0 else stop
        while begin < stop:
            end = data.find(b"\n", begin, stop)
            end = stop if end < 0 else end
            if end > begin:
                yield begin, end
            begin = end + 1
        position = stop + 1
