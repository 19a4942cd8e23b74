"""Text that is quoted: what looks like a document, a log, source code or an excerpt of them."""

import re

_FEWEST_LINES = 5
_LOOKED_AT = 200
"""Lines from the beginning; a document that begins as one is one."""
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
    """Whether `text` looks like something that somebody else wrote, rather than a report.

    Most lines of it are numbered, or have a place before them, a time, or the form of source code
    or Markdown; or it begins as documents do. Few lines are never a document.
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
    """`text` with what stands in quotation marks blanked, unless that is all of it."""
    bare = _QUOTED.sub(lambda found: " " * len(found[0]), text)
    return bare if any(map(str.isalnum, bare)) else text
