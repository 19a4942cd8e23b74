"""What a text mentions of code: paths, and the frames of stack traces in many languages."""

import re
from collections.abc import Iterator
from itertools import chain, islice
from typing import NamedTuple

from treadle.code.reports import without_form
from treadle.code.whole_files import TEXT_LANGUAGES

_MOST_FRAMES = 60
_LONGEST = 200
"""Characters of a path; longer runs are data."""

_RUN = re.compile(r"[\w~.@+$\\/:-]+")
_LINE_AFTER = re.compile(r"\"?(?:,| on)? line (\d{1,7})|\((\d{1,7})\)|#L(\d{1,7})| (\d{1,7})\b")
_FUNCTION_AFTER = re.compile(r"[^\n]{0,20}?\b(?:in|:in) [`'\"]?([^\W\d][\w.]{0,80})")
_BLOB = re.compile(
    r"https?://[^\s/]+/[^\s/]+/[^\s/]+/(?:blob|tree)/[^\s/]+/([^\s#)?\]]+)(?:#L(\d{1,7}))?"
)
_ADDRESS = re.compile(r"\b(?:https?|ftp)://[^\s)>\]\"']+")

_CAUSE = re.compile(r"^[ \t>|]{0,20}Caused by:", re.MULTILINE)
"""The start of the exception that caused the one above; its calls are deeper."""


class Frame(NamedTuple):
    """A place in a file: a call of a stack trace, or a path that the text names."""

    path: str
    line: int | None
    function: str
    is_call: bool
    """Whether it is a call of a stack trace."""
    is_python: bool = False
    """Whether the deepest call is the last of its trace."""


def frames_in(text: str) -> tuple[Frame, ...]:
    """The places that a text names, of a stack trace the deepest call first."""
    causes = reversed(_CAUSE.split(without_form(text)))
    frames = list(islice(chain.from_iterable(map(_frames, causes)), _MOST_FRAMES))
    python = [frame for frame in reversed(frames) if frame.is_python]
    return (*python, *(frame for frame in frames if not frame.is_python))


def _frames(text: str) -> Iterator[Frame]:
    for match in _BLOB.finditer(text):
        yield Frame(match[1], int(match[2]) if match[2] else None, "", is_call=False)
    rest = _ADDRESS.sub(" ", text)
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
    """The place that a run of characters without blanks names.

    `caller` is what is in front of it and a bracket: `pkg.Class.method(Class.java:12)`.
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
    from treadle.code.languages import Language, language_of  # not needed by most

    language = language_of(name)
    return isinstance(language, Language) and language.name not in TEXT_LANGUAGES
