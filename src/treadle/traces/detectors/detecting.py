"""The findings of many spans, folded together from what each of them tells."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from treadle.traces.detectors.examined import Examined, Fault, Series, Told
from treadle.traces.detectors.examining import ALL_LAYERS, Examiner
from treadle.traces.detectors.finding import Finding, Layer, Severity, SpanReference
from treadle.traces.detectors.repeats import Numbering, Occurrence
from treadle.traces.detectors.rules import Rule
from treadle.traces.span import Span

MOST_COMPARED = 50
"""Failed calls of one tool, the last ones, that a message may be about."""
LEAST_COMPARED = 4
"""Characters of what went wrong by which a message is known again."""
_WEIGHTS = {severity.value: severity.weight for severity in Severity}


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


def gather(examined: Iterable[Examined]) -> tuple[Finding, ...]:
    """The findings of spans that were examined one by one, as `detect` gives them."""
    return gather_worst(examined, None)[1]


def gather_worst(
    examined: Iterable[Examined], limit: int | None
) -> tuple[int, tuple[Finding, ...]]:
    """How many findings there are, and the gravest, of equal ones the first; in order of time."""
    gathering = _Gathering()
    for each in sorted(examined, key=_by_time):
        gathering.add(each)
    found = gathering.found
    if limit is not None and limit < len(found):
        ranks = sorted(range(len(found)), key=lambda number: (-found[number].weight, number))
        found = [found[number] for number in sorted(ranks[:limit])]
    return len(gathering.found), tuple(first.finding() for first in found)


def _by_time(examined: Examined) -> tuple[int, str, str]:
    return examined.start_us, examined.span.trace_id, examined.span.span_id


class _First:
    """A fault at its first occurrence, and the later spans that repeat it."""

    __slots__ = ("_also_in", "_fault", "_span")

    def __init__(self, fault: Fault, span: SpanReference) -> None:
        self._fault = fault
        self._span = span
        self._also_in: list[SpanReference] = []

    @property
    def weight(self) -> int:
        return _WEIGHTS[self._fault.severity]

    def repeated_in(self, span: SpanReference) -> None:
        if span != self._span and span not in self._also_in[-1:]:
            self._also_in.append(span)

    def finding(self) -> Finding:
        return self._fault.found_in(self._span, self._also_in)


class _Gathering:
    """What was found so far in spans that come in order of time."""

    def __init__(self) -> None:
        self.found: list[_First] = []
        self._places: dict[tuple[Occurrence, str, str], _First] = {}
        self._over_spans = {Series.REPLIES: Numbering(), Series.TOOLS: Numbering()}
        self._failed: defaultdict[str, list[tuple[str, _First]]] = defaultdict(list)
        """By tool: what its spans without a result say went wrong, and which fault that is."""

    def add(self, examined: Examined) -> None:
        numberings = {**self._over_spans, Series.HISTORY: Numbering()}
        known: set[int] = set()
        for told in examined.told:
            before = self._failure_of(told, known) if told.series is Series.HISTORY else None
            if before is not None:
                known.add(id(before))
                before.repeated_in(examined.span)
                continue
            occurrence = None
            if told.series is not Series.NONE:
                occurrence = numberings[told.series].occurrence(told.content)
            for fault in told.faults:
                first = self._report(fault, told, occurrence, examined.span)
                if told.series is Series.NONE and told.said is not None:
                    self._failed[fault.tool].append((told.said, first))

    def _failure_of(self, told: Told, known: Collection[int]) -> _First | None:
        """The failed call whose span has no result, but tells of what this message tells."""
        if told.said is None or not self._failed:
            return None
        for words, first in self._failed.get(told.faults[0].tool, ())[-MOST_COMPARED:]:
            if id(first) not in known and len(words) >= LEAST_COMPARED and words in told.said:
                return first
        return None

    def _report(
        self, fault: Fault, told: Told, occurrence: Occurrence | None, span: SpanReference
    ) -> _First:
        key = None
        if occurrence is not None:
            key = (occurrence, fault.kind, fault.field[len(told.at) :] if told.at else "")
            before = self._places.get(key)
            if before is not None:
                before.repeated_in(span)
                return before
        first = _First(fault, span)
        if key is not None:
            self._places[key] = first
        self.found.append(first)
        return first
