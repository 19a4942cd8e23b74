"""Classes of labelled spans, by which precision and recall are split.

The classes depend on the span alone, not on its label: each has faults and spans that only look
faulty. The first matching class counts.
"""

import re
from collections.abc import Sequence

from bench.detectors.corpus import Case
from bench.detectors.scoring import WORDS
from treadle.spans.span import SpanKind

_FOREIGN = 0.02
"""Share of non-ASCII letters from which on a text counts as another language."""
_FOREIGN_WORDS = re.compile(
    r"(?i)\b(?:der|die|und|nicht|wurde|kein|fehler|erreur|impossible|aucun|est|los|del|no se|error:"
    r" el|fout|geen|hata|nessun|impossibile|trovat[oa]|nenhum|foi)\b"
)
_TRACEBACK = re.compile(
    r"Traceback \(most recent|^\s+at \S+.*[:(]|goroutine \d+|panicked at|Stack trace:"
    r"|^\s+from \S+:",
    re.MULTILINE,
)
_NEGATION = re.compile(
    rf"(?i)\b(?:no|not|without|never|none|nothing|0)\b[^.\n]{{0,30}}?(?:{'|'.join(WORDS)}|fail|fault)"
    rf"|(?:{'|'.join(WORDS)}|failures|failed)s?[\"']?\s*[:=]\s*(?:0|none|null|\[\]|false)"
)
_SHELLS = frozenset({"bash", "shell", "run_command", "terminal", "execute_command", "run_shell"})


def class_of(case: Case) -> str:
    """The class of a case, in words."""
    span, text = case.span, case.span.output or ""
    if span.kind is SpanKind.MODEL:
        return "model calls"
    if span.kind is not SpanKind.TOOL:
        return "other spans"
    letters = [each for each in text if each.isalpha()]
    foreign = sum(not each.isascii() for each in letters) > _FOREIGN * len(letters)
    if letters and (foreign or len(_FOREIGN_WORDS.findall(text)) > 1):
        return "other languages"
    if _TRACEBACK.search(text):
        return "tracebacks"
    if text.lstrip()[:1] in {"{", "["}:
        return "JSON with null" if "null" in text else "JSON"
    if _NEGATION.search(text):
        return "negations"
    if str(span.attributes.get("gen_ai.tool.name")) in _SHELLS:
        return "shells"
    return "one line" if "\n" not in text.strip() else "longer texts"


def by_class(cases: Sequence[Case]) -> dict[str, list[Case]]:
    """The cases by class, the largest first."""
    found: dict[str, list[Case]] = {}
    for case in cases:
        found.setdefault(class_of(case), []).append(case)
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))
