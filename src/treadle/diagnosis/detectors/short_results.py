"""Detectors of `Layer.SIGNALS` for empty results and for results that only report a failure."""

import re
from collections.abc import Mapping

from treadle.diagnosis.detectors.finding import Detector, Hit, Kind, Layer, Severity
from treadle.diagnosis.field_paths import step

EMPTY = Detector("empty-result", 1, Layer.SIGNALS)

_LISTS = (
    "results",
    "items",
    "data",
    "matches",
    "hits",
    "rows",
    "documents",
    "docs",
    "records",
    "entries",
    "context",
    "sources",
    "content",
    "result",
    "files",
    "value",
    "organic",
    "ids",
    "issues",
    "events",
)
_COUNTS = ("total", "count", "total_count", "totalCount", "num_results", "row_count")
_DEEPEST = 2
_WISHED = (
    "errors?|issues?|problems?|warnings?|failures?|vulnerabilit|conflicts?|diagnostics|changes"
    "|duplicates|secrets|violations|threats|anomal|differences|regressions|leaks?|bugs?|lint"
    "|action|further|need|reason|longer"
)
"""Words for things whose absence is a good result."""
_NONE_FOUND = re.compile(
    rf"\W*(?:sorry,? (?:but )?)?(?:(?:there (?:is|are|was"
    rf"|were) )?no (?![^.\n]{{0,60}}\b(?:{_WISHED}))"
    r"(?:[\w-]+ ){0,4}?(?:results?|match(?:es|ing)?|rows?|documents?|records?|entries|items|hits"
    r"|data"
    r"|files?|output|events?|messages?|tickets?|information|answers?|articles?|products?|users?"
    r"|content|occurrences|tasks?)\b(?! to| are| is| has| have| need)"
    rf"|there (?:is|are|was|were) no (?![^.\n]{{0,60}}\b(?:{_WISHED}))[a-z]"
    rf"|(?:[^.\n]{{1,40}}[:;] )?no (?![^.\n]{{0,60}}\b(?:{_WISHED}))[^.!?\n]{{1,60}} (?:found"
    rf"|available|exists?|matched"
    rf"|returned)\b"
    rf"|found (?:0|no) (?![^.\n]{{0,60}}\b(?:{_WISHED}))"
    r"|nothing (?:was |has been )?(?:found|matched|returned)|none found|empty (?:set|result"
    r"|response"
    r"|list)|0 (?:results?|matches|rows|hits|records|files)|nothing (?:added )?to commit"
    r"|returned (?:0|no) "
    r"|\(0 rows\)|(?:your |the )?(?:search|query|request) (?:for .{0,80} )?(?:(?:returned|found"
    r"|yielded"
    r"|produced) (?:no|0|nothing)|did not (?:match|return|find) any)|keine (?:\w+ )?(?:ergebnisse"
    r"|treffer)|aucun (?:\w+ )?résultat|(?:no hay|sin|no se encontraron) resultados"
    r"|nenhum resultado|nessun risultato|geen resultaten|ничего не найдено"
    r"|没有(?:找到)?(?:结果|匹配)|未找到(?:结果|任何)|結果はありません|該当なし)",
    re.IGNORECASE,
)
_NONE_CHARACTERS = 240


def nothing(value: object, path: str) -> Hit | None:
    """Return a hit if the result `value`, which is at `path`, has no content."""
    if isinstance(value, str):
        return _none_in_words(value, path)
    empty_path: str | None = None if value else path
    if isinstance(value, list) and all(_is_empty_block(each) for each in value):
        empty_path = path
    if isinstance(value, Mapping):
        counts = [value[key] for key in _COUNTS if key in value]
        lists = [key for key in _LISTS if isinstance(value.get(key), list | Mapping)]
        if counts == [0]:
            lists = [key for key in value if value[key] == []] or lists
        if lists and all(_holds_nothing(value[key], depth=0) for key in lists):
            empty_path = step(path, lists[0])
    if empty_path is None:
        return None
    return empty(empty_path, "it found nothing", 0.8)


def _holds_nothing(value: object, depth: int) -> bool:
    if isinstance(value, Mapping) and value and depth < _DEEPEST:
        lists = [key for key in _LISTS if isinstance(value.get(key), list)]
        return bool(lists) and all(_holds_nothing(value[key], depth + 1) for key in lists)
    if isinstance(value, list) and depth < _DEEPEST:
        return all(isinstance(each, list) and not each for each in value)
    return not value


def _none_in_words(text: str, path: str) -> Hit | None:
    if text in {"", "None", "null", "nil", "(nil)", "[]", "{}", '""', "()"}:
        confidence, what = 0.7, "it is empty"
    elif (len(text) <= _NONE_CHARACTERS and _NONE_FOUND.match(text)) or text.endswith("\n(0 rows)"):
        confidence, what = 0.85, "it found nothing"
    else:
        return None
    return empty(path, what, confidence)


def _is_empty_block(value: object) -> bool:
    return (
        isinstance(value, Mapping)
        and value.get("type") == "text"
        and isinstance(words := value.get("text"), str)
        and (not words.strip() or _NONE_FOUND.match(words[:_NONE_CHARACTERS]) is not None)
    )


def empty(path: str, what: str, confidence: float) -> Hit:
    """Return a hit for a result without content. The hit quotes the text at `path`."""
    message = f"The tool's result: {what}."
    return Hit(EMPTY, Kind.EMPTY_RESULT, Severity.LOW, confidence, message, path)


LONGEST = 120
"""The maximum length of a short result in characters.

Longer results are read line by line.
"""

_WHAT = (
    r"(?:an?|the|some|unknown|unexpected|unhandled|uncaught|unspecified|internal|generic|general"
    r"|fatal|critical|network|connection|server|system|service|database|db|http|https|api|request"
    r"|response|gateway|proxy|dns|ssl|tls|socket|i/?o|disk|runtime|execution|tool|function|command"
    r"|read|write|fetch|query|upstream|backend|remote|client|transport|protocol|authentication"
    r"|authorization|auth|permission|access|validation|parse|parsing|syntax|application|timeout"
    r"|processing|communication|tcp|rpc|grpc)"
)
_FAULT = r"(?:error|exception|failure|fault)s?"
_REASON = (
    r"(?:bad\srequest|unauthori[sz]ed|forbidden|not\sfound|method\snot\sallowed|request\stime-?out"
    r"|too\smany\srequests|internal\sserver\serror|not\simplemented|bad\sgateway"
    r"|service\s(?:temporarily\s)?unavailable|gateway\stime-?out)"
)
_NUMBER = r"[45]\d\d"
_BEFORE = r"""[^\w"'`]*"""
_BEHIND = r"[\s.!)\]…*]*"
"""Matches punctuation after a failure, but no quotation marks.

A failure in quotation marks does not count, since it is a value that the tool returns.
"""
_ALONE = re.compile(
    rf"""{_BEFORE}(?:
        (?:{_WHAT}\s){{0,3}}{_FAULT}(?:\s(?:has\s|was\s)?(?:been\s)?
            (?:occurred|occured|happened|raised|thrown|encountered|detected|caught))?
        |(?:raised|threw|throws?|caught|got|encountered)\s(?:an?\s)?(?:{_WHAT}\s){{0,2}}{_FAULT}
        |(?:http\s?)?(?:{_FAULT}|status|http|response)?(?:\s?(?:code|status))?[\s:=\#(]*{_NUMBER}\)?
            (?:[\s:,(\u2013\u2014-]+(?:{_REASON}|{_FAULT})\)?)
        |(?:http\s?)?(?:{_FAULT}|http)(?:\s?(?:code|status))?[\s:=\#(]*{_NUMBER}\)?
        |{_NUMBER}\s{_FAULT}
        |{_REASON}
        |(?:{_FAULT}\s?[:-]\s?)?(?:
            (?:the\s)?(?:{_WHAT}\s|call\s|operation\s){{0,2}}(?:has\s)?(?:failed|timed\sout|crashed|aborted)
            |time-?out|timed\sout
            |(?:connection|host|network|server|service|socket)\s(?:was\s|is\s)?
                (?:refused|reset(?:\sby\speer)?|unreachable|unavailable|closed\sunexpectedly|down)
            |failed\sto\s(?:fetch|connect|load|respond)
            |socket\shang\sup|broken\spipe|no\sroute\sto\shost
            |something\swent\swrong
        )
    ){_BEHIND}""",
    re.IGNORECASE | re.VERBOSE,
)
_STATUS = re.compile(_NUMBER)


def is_failure_alone(text: str) -> bool:
    """Return whether `text` only reports a failure.

    Examples are "Network error" and "ERROR 500". Such a text counts as a failure even if the tool
    shows texts of others. A document, a listing or a search result would contain other words too.
    """
    return len(text) <= LONGEST and _ALONE.fullmatch(text.strip()) is not None


def status_in(text: str) -> int | None:
    """Return the HTTP status in a text that only reports a failure.

    The result is None if there is no status.
    """
    found = _STATUS.search(text)
    return int(found[0]) if found else None
