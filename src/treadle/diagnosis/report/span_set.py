"""The spans of an analysis, each read once, and the spans shortly before them."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from treadle.diagnosis.detectors import Finding, Rule, Severity
from treadle.diagnosis.evidence import SpanReference
from treadle.diagnosis.findings import examiners, findings
from treadle.diagnosis.outliers import earlier_spans, newest_spans
from treadle.diagnosis.quote_verification import SpanSource
from treadle.diagnosis.report.span_facts import SpanFacts, span_facts
from treadle.diagnosis.span_times import reference, self_times
from treadle.spans.span import SpanKind, SpanStatus
from treadle.traces.query.conditions import Condition, Field, Operator, Query
from treadle.traces.store.examinations import SpanExaminer
from treadle.traces.store.results import ListedSpan
from treadle.traces.store.span_reader import SpanReader

MAX_READ_SPANS = 10_000
"""The default for the maximum number of spans whose contents are read. The newest are read."""
EARLIER_READ = 200
"""The number of earlier tool and model calls whose contents are read."""
MAX_FINDINGS = 5_000
"""The maximum number of findings that are scored. The most severe findings are scored."""
_ROUNDS, _EXAMINED_AT_ONCE = 20, 1_000
"""The maximum number of rounds of examination before an analysis, and of spans in a round."""

NO_SPAN_FACTS = SpanFacts()


class AnalysisReader(SpanReader, SpanSource, Protocol):
    """A source of spans that can also examine them, such as a store."""

    def examine(self, examiners: Sequence[SpanExaminer], *, most: int | None = None) -> int:
        """Examine up to `most` new spans. Returns the number of examined spans."""
        ...


@dataclass(frozen=True, kw_only=True)
class SpanSet:
    """Spans in order of time, the facts about their contents, and their findings.

    `earlier` contains spans that began before the first of `spans`. Earlier spans only add to
    baselines.
    """

    spans: tuple[ListedSpan, ...]
    facts: Mapping[SpanReference, SpanFacts]
    findings: tuple[Finding, ...]
    now_us: int = 0
    """The time of the analysis in Unix microseconds."""
    unexamined: int = 0
    """The number of new spans that were not examined, because there were too many."""
    earlier: tuple[ListedSpan, ...] = ()
    earlier_facts: Mapping[SpanReference, SpanFacts] = field(default_factory=dict)

    def fact(self, span: ListedSpan) -> SpanFacts:
        """Return the facts about a span's content.

        The facts are empty if the content was not read.
        """
        key = reference(span)
        return self.facts.get(key) or self.earlier_facts.get(key) or NO_SPAN_FACTS

    @cached_property
    def known(self) -> Mapping[SpanReference, ListedSpan]:
        """The spans by their references."""
        return {reference(span): span for span in self.spans}

    @cached_property
    def own_us(self) -> Mapping[SpanReference, int]:
        """The own time of each span in microseconds.

        Own time excludes the time of children and the time that a span waited for a person.
        """
        return self._own(self.spans)

    @cached_property
    def earlier_own_us(self) -> Mapping[SpanReference, int]:
        """The own times of the earlier spans in microseconds."""
        return self._own(self.earlier)

    @cached_property
    def by_trace(self) -> Mapping[str, Sequence[ListedSpan]]:
        """The spans of each trace, in order of time."""
        traces: dict[str, list[ListedSpan]] = defaultdict(list)
        for span in self.spans:
            traces[span.trace_id].append(span)
        return traces

    def caller(self, span: ListedSpan) -> SpanReference:
        """Return the caller of a span: the nearest span around it that is not a model call."""
        around = (reference(each) for each in self.above(span) if each.kind is not SpanKind.MODEL)
        return next(around, SpanReference(span.trace_id, span.parent_id or ""))

    @cached_property
    def _calls(self) -> Mapping[SpanReference, Sequence[ListedSpan]]:
        """The spans of each caller, in order of time."""
        made: dict[SpanReference, list[ListedSpan]] = defaultdict(list)
        for span in self.spans:
            made[self.caller(span)].append(span)
        return made

    def after(self, span: ListedSpan) -> Iterator[ListedSpan]:
        """Yield the spans that the same caller began after the end of `span`, in order of time."""
        for each in self._calls[self.caller(span)]:
            if each.start_us >= (span.end_us or 0) and each is not span:
                yield each

    @cached_property
    def _starts(self) -> Mapping[str, Sequence[int]]:
        return {trace: [each.start_us for each in spans] for trace, spans in self.by_trace.items()}

    def begins_between(self, trace_id: str, start_us: int, end_us: int) -> bool:
        """Return whether a span of a trace began at `start_us` or later, but before `end_us`."""
        starts = self._starts[trace_id]
        return bisect_left(starts, start_us) < bisect_left(starts, end_us)

    @cached_property
    def wall_us(self) -> Mapping[str, int]:
        """The duration of each trace in microseconds, from its first start to its last end."""
        return {
            trace: max(max(span.end_us or 0, span.start_us) for span in spans) - spans[0].start_us
            for trace, spans in self.by_trace.items()
        }

    @cached_property
    def faulty(self) -> Mapping[SpanReference, Severity]:
        """The faulty spans, each with its worst severity."""
        worst: dict[SpanReference, Severity] = {
            reference(span): Severity.HIGH for span in self.spans if span.status is SpanStatus.ERROR
        }
        for finding in self.findings:
            at = finding.evidence.span
            before = worst.get(at)
            if before is None or finding.severity.weight > before.weight:
                worst[at] = finding.severity
        return worst

    @cached_property
    def steps(self) -> Mapping[SpanReference, int]:
        """The number of children of each span that has any. Earlier spans are included."""
        return Counter(
            SpanReference(span.trace_id, span.parent_id)
            for span in (*self.earlier, *self.spans)
            if span.parent_id is not None
        )

    def above(self, span: ListedSpan) -> Iterable[ListedSpan]:
        """Yield the ancestors of a span, the nearest first.

        A cycle of parents ends the sequence.
        """
        seen = {span.span_id}
        current: ListedSpan | None = span
        while current is not None and current.parent_id is not None:
            if current.parent_id in seen:
                return
            seen.add(current.parent_id)
            current = self.known.get(SpanReference(span.trace_id, current.parent_id))
            if current is not None:
                yield current

    def _own(self, spans: Sequence[ListedSpan]) -> Mapping[SpanReference, int]:
        own = dict(self_times(spans))
        for span in spans:
            waited = self.fact(span).waited_us
            if waited and reference(span) in own:
                own[reference(span)] = max(0, own[reference(span)] - waited)
        return own


def read_span_set(
    reader: AnalysisReader,
    query: Query,
    *,
    rules: Sequence[Rule],
    now_us: int,
    most: int = MAX_READ_SPANS,
) -> SpanSet:
    """Return the newest spans of a query, at most `most`, with the facts about their contents."""
    spans = newest_spans(reader, query, most)
    earlier = earlier_spans(reader, spans)
    calls = [span for span in earlier if span.kind in {SpanKind.TOOL, SpanKind.MODEL}]
    findings, unexamined = _findings(reader, query, spans, rules)
    return SpanSet(
        spans=spans,
        facts=_facts(reader, spans),
        findings=findings,
        now_us=now_us,
        unexamined=unexamined,
        earlier=earlier,
        earlier_facts=_facts(reader, calls[-EARLIER_READ:]),
    )


def _facts(reader: SpanSource, spans: Iterable[ListedSpan]) -> dict[SpanReference, SpanFacts]:
    """Return the facts about spans. The contents are read one span at a time."""
    found: dict[SpanReference, SpanFacts] = {}
    for listed in spans:
        span = reader.span(listed.trace_id, listed.span_id)
        if span is not None:  # another process may have deleted the span
            found[reference(listed)] = span_facts(span)
    return found


def _findings(
    reader: AnalysisReader, query: Query, spans: Sequence[ListedSpan], rules: Sequence[Rule]
) -> tuple[tuple[Finding, ...], int]:
    """Return the most severe findings of the spans, and the number of unexamined spans."""
    if not spans:
        return (), 0
    for _ in range(_ROUNDS):
        if not reader.examine(examiners(rules), most=_EXAMINED_AT_ONCE):
            break
    read = query & Query((Condition(Field.START, Operator.AT_LEAST, (spans[0].start_us,)),))
    found = findings(reader, read, rules=rules, limit=MAX_FINDINGS)
    return found.data, found.unexamined
