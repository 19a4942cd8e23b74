"""Combines the examinations of single spans into findings."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

from treadle.diagnosis.detectors.examination import (
    Fault,
    Occurrence,
    OccurrenceCounter,
    Series,
    SpanExamination,
    TextFaults,
)
from treadle.diagnosis.detectors.examiner import ALL_LAYERS, Examiner
from treadle.diagnosis.detectors.finding import Finding, Layer
from treadle.diagnosis.detectors.user_rules import Rule
from treadle.diagnosis.evidence import SpanReference
from treadle.spans.span import Span

MAX_COMPARED = 50
"""The maximum number of failed calls with which one message in a history is compared.

The latest failed calls of the message's tool are compared.
"""
MIN_COMPARED = 4
"""The minimum length, in characters, of an error that is searched for in later messages."""


def detect(
    spans: Iterable[Span],
    user_rules: Sequence[Rule] = (),
    *,
    layers: Collection[Layer] = ALL_LAYERS,
) -> tuple[Finding, ...]:
    """Return the findings of `spans` in order of time, each at its first occurrence.

    Pass the spans of whole runs or threads. If an earlier span is missing, its faults are reported
    at the first of `spans` that repeats them.
    """
    examiner = Examiner(user_rules, layers=layers)
    return combine(map(examiner.examine, spans))


def combine(examined: Iterable[SpanExamination]) -> tuple[Finding, ...]:
    """Combine examinations of single spans into the findings that `detect` returns."""
    return combine_worst(examined, None)[1]


def combine_worst(
    examined: Iterable[SpanExamination], limit: int | None
) -> tuple[int, tuple[Finding, ...]]:
    """Return the number of all findings, and at most `limit` findings, the most severe ones.

    The findings are in order of time. If `limit` is None, all findings are returned.

    """
    combination = _Combination()
    for each in sorted(examined, key=_by_time):
        combination.add(each)
    found = combination.found
    if limit is not None and limit < len(found):
        ranks = sorted(range(len(found)), key=lambda number: (-found[number].weight, number))
        found = [found[number] for number in sorted(ranks[:limit])]
    return len(combination.found), tuple(_findings(found))


def _by_time(examined: SpanExamination) -> tuple[int, str, str]:
    return examined.start_us, examined.span.trace_id, examined.span.span_id


class _First:
    """The first occurrence of a fault, and the later spans that repeat it."""

    __slots__ = ("also_in", "examined", "number", "weight")

    def __init__(self, examined: SpanExamination, number: int, weight: int) -> None:
        self.examined = examined
        self.number = number
        self.weight = weight
        self.also_in: list[SpanReference] | None = None

    def repeated_in(self, span: SpanReference) -> None:
        if self.also_in is None:
            self.also_in = []
        if span != self.examined.span and span not in self.also_in[-1:]:
            self.also_in.append(span)


def _findings(found: Iterable[_First]) -> Iterator[Finding]:
    """Decode the findings. The faults of adjacent findings of one span are decoded only once."""
    examined: SpanExamination | None = None
    faults: list[Fault] = []
    for first in found:
        if first.examined is not examined:
            examined = first.examined
            faults = examined.faults()
        yield faults[first.number].found_in(first.examined.span, first.also_in or ())


class _Combination:
    """Combines the faults of spans. The spans must be added in order of time."""

    def __init__(self) -> None:
        self.found: list[_First] = []
        self._firsts: dict[tuple[Occurrence, str], _First] = {}
        self._over_spans: dict[int, OccurrenceCounter] = {
            Series.REPLIES: OccurrenceCounter(),
            Series.TOOLS: OccurrenceCounter(),
        }
        self._failed: defaultdict[str, list[tuple[str, _First]]] = defaultdict(list)
        """Maps a tool to its failed calls.

        A pair has the error and the fault of one call. Calls whose result has a fault are not
        included.
        """

    def add(self, examined: SpanExamination) -> None:
        number = 0
        history: OccurrenceCounter | None = None
        known: set[int] = set()
        for text in examined.texts:
            begin, number = number, number + len(text.keys)
            counter = self._over_spans.get(text.series)
            if text.series == Series.HISTORY:
                before = self._failure_of(text, known)
                if before is not None:
                    known.add(id(before))
                    before.repeated_in(examined.span)
                    continue
                history = counter = history or OccurrenceCounter()
            occurrence = counter.occurrence(text.content) if counter is not None else None
            for position, each in enumerate(text.keys, begin):
                first = self._report(examined, position, each, occurrence)
                if text.series == Series.NONE and text.quote is not None:
                    self._failed[text.tool].append((text.quote, first))

    def _failure_of(self, text: TextFaults, known: Collection[int]) -> _First | None:
        """Return the fault of an earlier call whose error this message contains, or None."""
        if text.quote is None or not self._failed:
            return None
        for words, first in self._failed.get(text.tool, ())[-MAX_COMPARED:]:
            if id(first) not in known and len(words) >= MIN_COMPARED and words in text.quote:
                return first
        return None

    def _report(
        self, examined: SpanExamination, number: int, mark: str, occurrence: Occurrence | None
    ) -> _First:
        if occurrence is None:
            first = _First(examined, number, int(mark[0]))
            self.found.append(first)
            return first
        key = (occurrence, mark[1:])
        before = self._firsts.get(key)
        if before is not None:
            before.repeated_in(examined.span)
            return before
        first = self._firsts[key] = _First(examined, number, int(mark[0]))
        self.found.append(first)
        return first
