"""Precision and recall of a method of finding faults, on labelled cases."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.detectors.corpus import Case
from treadle.diagnosis.detectors import Layer, detect
from treadle.spans.span import Span, SpanStatus

WORDS = (
    "error",
    "exception",
    "failed to",
    "unauthorized",
    "forbidden",
    "not found",
    "does not exist",
    "timeout",
    "rate limit",
    "invalid",
    "missing",
    "undefined",
    "null",
)
"""The words that the earlier system looked for, anywhere in a text."""
_WORDS = re.compile("|".join(WORDS), re.IGNORECASE)

Way = Callable[[Span], Sequence[str]]
"""The paths at which a method sees a fault in a span."""


def by_words(span: Span) -> list[str]:
    """The plain list of words, and the status, over input and output."""
    found = ["status"] if span.status is SpanStatus.ERROR else []
    for path, text in (("input", span.input), ("output", span.output)):
        if text and _WORDS.search(text):
            found.append(path)
    return found


def by_words_of_output(span: Span) -> list[str]:
    """The same over the output alone."""
    return [path for path in by_words(span) if path != "input"]


def by_layers(*layers: Layer) -> Way:
    """The detectors of these layers."""

    def paths(span: Span) -> list[str]:
        return [finding.evidence.field for finding in detect([span], layers=layers)]

    return paths


@dataclass(frozen=True, slots=True)
class Score:
    """The number of cases by result."""

    right: int
    false_alarms: tuple[str, ...]
    missed: tuple[str, ...]
    cases: int

    @property
    def precision(self) -> float:
        """The share of alarms that are correct; 1 if there was none."""
        alarms = self.right + len(self.false_alarms)
        return self.right / alarms if alarms else 1.0

    @property
    def recall(self) -> float:
        """The share of faults that were found; 1 if there was none."""
        faults = self.right + len(self.missed)
        return self.right / faults if faults else 1.0


def score(way: Way, cases: Sequence[Case]) -> Score:
    """Evaluate all cases. A fault that is only seen at another path counts as missed."""
    right, false_alarms, missed = 0, [], []
    for case in cases:
        paths = way(case.span)
        at_place = any(path.startswith(case.field) for path in paths)
        if case.fault and at_place:
            right += 1
        else:
            if case.fault:
                missed.append(case.name)
            if paths:
                false_alarms.append(case.name)
    return Score(right, tuple(false_alarms), tuple(missed), len(cases))
