"""Answers of a tool that are nothing but a failure, such as "Network error" or "ERROR 500".

No document, listing or search result consists of these words alone, so they count whatever the
tool's name says that it does.
"""

import re

LONGEST = 120
"""Characters. What is longer says more, and is read line by line."""

_WHAT = (
    r"(?:an?|the|some|unknown|unexpected|unhandled|uncaught|unspecified|internal|generic|general"
    r"|fatal|critical|network|connection|server|system|service|database|db|http|https|api|request"
    r"|response|gateway|proxy|dns|ssl|tls|socket|i/?o|disk|runtime|execution|tool|function|command"
    r"|read|write|fetch|query|upstream|backend|remote|client|transport|protocol|authentication"
    r"|authorization|auth|permission|access|validation|parse|parsing|syntax|application|timeout"
    r"|processing|communication|tcp|rpc|grpc|unknown)"
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
"""Signs, but no quotation marks: what is quoted is a value that a tool gives back."""
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
    """Whether `text` says that something failed, and nothing else."""
    return len(text) <= LONGEST and _ALONE.fullmatch(text.strip()) is not None


def status_in(text: str) -> int | None:
    """The HTTP status that such a text names."""
    found = _STATUS.search(text)
    return int(found[0]) if found else None
