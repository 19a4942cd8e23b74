"""The findings of many spans, folded together from what each of them tells."""

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

MOST_COMPARED = 50
"""Failed calls of one tool, the last ones, that a message may be about."""
LEAST_COMPARED = 4
"""Characters of what went wrong by which a message is known again."""


def detect(
    spans: Iterable[Span],
    user_rules: Sequence[Rule] = (),
    *,
    layers: Collection[Layer] = ALL_LAYERS,
) -> tuple[Finding, ...]:
    """The faults of `spans`, by time and place; each at its first occurrence among them.

    Give the spans of whole runs or threads: what only a span before them shows is reported at the
    first of them that repeats it.
    """
    examiner = Examiner(user_rules, layers=layers)
    return gather(map(examiner.examine, spans))


def gather(examined: Iterable[SpanExamination]) -> tuple[Finding, ...]:
    """The findings of spans that were examined one by one, as `detect` gives them."""
    return gather_worst(examined, None)[1]


def gather_worst(
    examined: Iterable[SpanExamination], limit: int | None
) -> tuple[int, tuple[Finding, ...]]:
    """How many findings there are, and the gravest, of equal ones the first; in order of time."""
    gathering = _Gathering()
    for each in sorted(examined, key=_by_time):
        gathering.add(each)
    found = gathering.found
    if limit is not None and limit < len(found):
        ranks = sorted(range(len(found)), key=lambda number: (-found[number].weight, number))
        found = [found[number] for number in sorted(ranks[:limit])]
    return len(gathering.found), tuple(_findings(found))


def _by_time(examined: SpanExamination) -> tuple[int, str, str]:
    return examined.start_us, examined.span.trace_id, examined.span.span_id


class _First:
    """A fault at its first occurrence, and the later spans that repeat it."""

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
    """The findings; the faults of a span are read once for all of them, which stand together."""
    examined: SpanExamination | None = None
    faults: list[Fault] = []
    for first in found:
        if first.examined is not examined:
            examined = first.examined
            faults = examined.faults()
        yield faults[first.number].found_in(first.examined.span, first.also_in or ())


class _Gathering:
    """What was found so far in spans that come in order of time."""

    def __init__(self) -> None:
        self.found: list[_First] = []
        self._places: dict[tuple[Occurrence, str], _First] = {}
        self._over_spans: dict[int, OccurrenceCounter] = {
            Series.REPLIES: OccurrenceCounter(),
            Series.TOOLS: OccurrenceCounter(),
        }
        self._failed: defaultdict[str, list[tuple[str, _First]]] = defaultdict(list)
        """By tool: what its spans without a result say went wrong, and which fault that is."""

    def add(self, examined: SpanExamination) -> None:
        number = 0
        history: OccurrenceCounter | None = None
        known: set[int] = set()
        for told in examined.told:
            begin, number = number, number + len(told.marks)
            numbering = self._over_spans.get(told.series)
            if told.series == Series.HISTORY:
                before = self._failure_of(told, known)
                if before is not None:
                    known.add(id(before))
                    before.repeated_in(examined.span)
                    continue
                history = numbering = history or OccurrenceCounter()
            occurrence = numbering.occurrence(told.content) if numbering is not None else None
            for place, each in enumerate(told.marks, begin):
                first = self._report(examined, place, each, occurrence)
                if told.series == Series.NONE and told.said is not None:
                    self._failed[told.tool].append((told.said, first))

    def _failure_of(self, told: TextFaults, known: Collection[int]) -> _First | None:
        """The failed call whose span has no result, but tells of what this message tells."""
        if told.said is None or not self._failed:
            return None
        for words, first in self._failed.get(told.tool, ())[-MOST_COMPARED:]:
            if id(first) not in known and len(words) >= LEAST_COMPARED and words in told.said:
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
        before = self._places.get(key)
        if before is not None:
            before.repeated_in(examined.span)
            return before
        first = self._places[key] = _First(examined, number, int(mark[0]))
        self.found.append(first)
        return first
