"""get_span_content: returns the content of single spans, and the faults in it."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from treadle.diagnosis.detectors import Finding, Kind, Rule, detect
from treadle.diagnosis.evidence import SpanReference
from treadle.diagnosis.findings import findings
from treadle.diagnosis.record_faults import RecordFaultKind, record_faults
from treadle.diagnosis.span_messages import read
from treadle.events.types import ToolView
from treadle.spans.page_links import span_link
from treadle.spans.span import Span, SpanStatus
from treadle.spans.text_cuts import cut_before, cut_behind
from treadle.tokens import estimate
from treadle.toolbox.answers import BRIEF_TOKENS, MaxTokens, if_any, most_that_fit, written
from treadle.toolbox.traces.fault_rows import Issue, issue
from treadle.toolbox.traces.trace_tool import (
    AnswerPart,
    TraceReader,
    TraceResult,
    TraceTool,
    as_list,
    milliseconds,
    moment,
    named,
    short,
)
from treadle.toolbox.wording import counted
from treadle.tools.contract import Arguments
from treadle.traces.fencing import fenced
from treadle.traces.query import Field as About
from treadle.traces.query import Query, any_of
from treadle.traces.store.results import ListedSpan

MAX_SPANS = 5
_ISSUES = (50, 10, 5, 3, 1, 0)
"""The numbers of issues per span that are tried in this order, until all spans fit."""
_CHARACTERS_A_TOKEN = 12
"""The assumed maximum number of characters per token, for text in any language."""

ContentField = Literal["input", "output", "error"]
CONTENT_FIELDS: tuple[ContentField, ...] = ("input", "output", "error")


class GetSpanContentArguments(Arguments):
    """The spans, and the parts of their content to return."""

    spanIds: Annotated[
        tuple[str, ...],
        Field(min_length=1, max_length=MAX_SPANS, description="The spans, at most 5."),
        BeforeValidator(as_list),
    ]
    raw: Annotated[bool, Field(description="Whether to include the recorded texts.")] = False
    fields: Annotated[
        tuple[ContentField, ...],
        Field(min_length=1, description="With raw: which texts."),
        BeforeValidator(as_list),
    ] = CONTENT_FIELDS
    offset: Annotated[
        int, Field(ge=0, description="With raw: characters of each text to skip.")
    ] = 0
    maxTokens: MaxTokens = BRIEF_TOKENS


class ContentStats(AnswerPart):
    """The lengths of the input and the output in characters.

    A length is null if the text is missing.
    """

    input_length: int | None
    output_length: int | None
    has_tool_calls: bool


class ContentPiece(AnswerPart):
    """Characters `start` to `end` of a recorded text.

    `text` has these characters in a fence, which marks them as data (see `treadle.traces.fencing`).
    `length` is the length of the whole text in characters.
    """

    field: ContentField
    start: int
    end: int
    length: int
    text: str


class SpanContent(AnswerPart):
    """A span and its faults. `issues_left_out` is the number of faults that did not fit."""

    span_id: str
    trace_id: str
    operation_name: str
    name: str
    status: str
    model: str | None = if_any()
    start: str
    duration_ms: float | None
    explicit_error: str | None
    semantic_issues: list[Issue]
    issues_left_out: int | None = if_any()
    record_faults: tuple[str, ...] = if_any()
    """Faults in how the span was recorded. They make figures or texts of the span misleading."""
    content_stats: ContentStats
    assessment: str
    link: str
    content: tuple[ContentPiece, ...] = if_any()


class GetSpanContentResult(TraceResult):
    """The spans in the order of the requested ids.

    If spans of several traces have the same id, all of them are listed, newest first.
    """

    type: str = "span_content"
    data: list[SpanContent]
    not_found: list[str]
    more: str | None = if_any()


@dataclass(frozen=True, slots=True)
class _Examined:
    """A span with its faults.

    Each fault is paired with the id of the earlier span that has the same fault, or with None.
    """

    span: Span
    calls: bool
    """Whether the model's reply in the span calls tools."""
    faults: tuple[tuple[Finding, str | None], ...]


class GetSpanContent(TraceTool[GetSpanContentArguments, GetSpanContentResult]):
    """Reads single spans, and finds faults in them."""

    name = "get_span_content"
    description = (
        "Read up to 5 recorded spans: the recorded error of each, and faults in its content that "
        "its status does not show, each with location and quote. Set raw to get the recorded "
        "input and output as well."
    )
    arguments = GetSpanContentArguments
    result = GetSpanContentResult

    def __init__(self, reader: TraceReader, rules: Sequence[Rule] = ()) -> None:
        super().__init__(reader)
        self._rules = rules

    def answer(self, arguments: GetSpanContentArguments, now_us: int) -> GetSpanContentResult:  # noqa: ARG002
        requested_ids = tuple(dict.fromkeys(arguments.spanIds))
        listed = list(self._listed(requested_ids))
        read_now = [
            self._examined(span, each)
            for each in listed[:MAX_SPANS]
            if (span := self._reader.span(each.trace_id, each.span_id)) is not None
        ]
        missing = [
            span_id for span_id in requested_ids if all(each.span_id != span_id for each in listed)
        ]
        others = len(listed) - MAX_SPANS

        def built(spans: int, issues: int, characters: int) -> GetSpanContentResult:
            data = [_content(each, issues, arguments, characters) for each in read_now[:spans]]
            sentences = _rest(data, others, len(read_now) - spans)
            return GetSpanContentResult(data=data, not_found=missing, more=sentences)

        def tokens(spans: int, issues: int, characters: int) -> int:
            return estimate(written(built(spans, issues, characters)))

        most = arguments.maxTokens
        spans = most_that_fit(len(read_now), lambda count: tokens(count, 0, 0), most)
        share = most // 2 if arguments.raw else most
        issues = next((each for each in _ISSUES if tokens(spans, each, 0) <= share), 0)
        if not arguments.raw:
            return built(spans, issues, 0)
        longest = max((len(text) for each in read_now for text in _texts(each.span)), default=0)
        characters = most_that_fit(
            min(longest, most * _CHARACTERS_A_TOKEN),
            lambda count: tokens(spans, issues, count),
            most,
        )
        return built(spans, issues, characters)

    def view(self, arguments: GetSpanContentArguments, result: GetSpanContentResult) -> ToolView:  # noqa: ARG002
        issues = sum(len(each.semantic_issues) for each in result.data)
        return ToolView(f"{counted(len(result.data), 'span')}, {counted(issues, 'fault')} shown")

    def _listed(self, span_ids: Sequence[str]) -> Iterator[ListedSpan]:
        for span_id in span_ids:
            yield from self._reader.spans(Query((any_of(About.SPAN, [span_id]),)), limit=50).data

    def _examined(self, span: Span, listed: ListedSpan) -> _Examined:
        own = detect([span], self._rules)
        before: dict[tuple[Kind, str], list[str]] = defaultdict(list)
        if own:
            reference = SpanReference(span.trace_id, span.span_id)
            thread = Query((any_of(About.THREAD, [listed.thread_id]),))
            for finding in findings(self._reader, thread, rules=self._rules).data:
                if reference in finding.also_in:
                    place = finding.evidence
                    before[finding.kind, place.quote].append(place.span.span_id)
        faults = [(finding, _next_of(before, finding)) for finding in own]
        calls = any(message.calls for message in read(span).reply)
        return _Examined(
            span, calls, tuple(sorted(faults, key=lambda each: -each[0].severity.weight))
        )


def _next_of(before: dict[tuple[Kind, str], list[str]], finding: Finding) -> str | None:
    """Return and remove the id of the first span with the fault, or None if no span is left."""
    firsts = before.get((finding.kind, finding.evidence.quote))
    return firsts.pop(0) if firsts else None


def _content(
    examined: _Examined, issues: int, arguments: GetSpanContentArguments, characters: int
) -> SpanContent:
    span, faults = examined.span, examined.faults
    shown = [issue(finding, first_in=first) for finding, first in faults[:issues]]
    content_parts = _pieces(span, arguments, characters) if arguments.raw else ()
    return SpanContent(
        span_id=span.span_id,
        trace_id=span.trace_id,
        operation_name=named(span.operation),
        name=named(span.name),
        status=span.status.value,
        model=named(span.model) if span.model else None,
        start=str(moment(span.start_us)),
        duration_ms=milliseconds(span.duration_us),
        explicit_error=_explicit_error(span),
        semantic_issues=shown,
        issues_left_out=len(faults) - len(shown) or None,
        record_faults=_record_faults(span),
        content_stats=ContentStats(
            input_length=None if span.input is None else len(span.input),
            output_length=None if span.output is None else len(span.output),
            has_tool_calls=examined.calls,
        ),
        assessment=_assessment(span, faults),
        link=span_link(span.trace_id, span.span_id),
        content=tuple(content_parts),
    )


def _record_faults(span: Span) -> tuple[str, ...]:
    """Return the faults of the record. A missing end is left out, since the status shows it."""
    faults = [each for each in record_faults(span) if each.kind is not RecordFaultKind.UNFINISHED]
    return tuple(short(f"{each.kind.value}: {each.message}", 300) or "" for each in faults)


def _explicit_error(span: Span) -> str | None:
    if span.status is not SpanStatus.ERROR:
        return None
    return short(span.error, 400) or "It ended with an error and gives no reason."


def _assessment(span: Span, faults: Sequence[tuple[Finding, str | None]]) -> str:
    """Describe the outcome and the faults of the span in one sentence."""
    ended = {
        SpanStatus.ERROR: "It ended with an error",
        SpanStatus.UNFINISHED: "It has not ended",
        SpanStatus.CANCELLED: "It was cancelled",
        SpanStatus.DENIED: "It was not allowed",
        SpanStatus.OK: "It ended with status ok",
    }[span.status]
    if not faults:
        return f"{ended}; no fault was found in its content."
    worst = faults[0][0]
    sentences = f"{counted(len(faults), 'fault')}, the worst of {worst.severity.value} severity"
    sentences = f"{sentences} ({worst.kind.value})"
    if all(first is not None for _, first in faults):
        sentences += ", and earlier spans already showed all of them"
    but = "but there is" if span.status is SpanStatus.OK and len(faults) == 1 else "with"
    but = "but there are" if span.status is SpanStatus.OK and len(faults) > 1 else but
    return f"{ended}, {but} {sentences}."


def _pieces(
    span: Span, arguments: GetSpanContentArguments, characters: int
) -> Iterator[ContentPiece]:
    for field in arguments.fields:
        text: str | None = getattr(span, field)
        if not text:
            continue
        start = cut_before(text, arguments.offset)
        end = cut_before(text, start + characters)
        if end <= start and characters:
            end = cut_behind(text, start + 1)
        source = f"span {span.trace_id}/{span.span_id}, {field}, characters {start} to {end}"
        yield ContentPiece(
            field=field,
            start=start,
            end=end,
            length=len(text),
            text=fenced(text[start:end], source),
        )


def _texts(span: Span) -> Iterator[str]:
    for field in CONTENT_FIELDS:
        yield getattr(span, field) or ""


def _rest(data: Sequence[SpanContent], others: int, unfit: int) -> str | None:
    """State what was left out, and how to get it. Returns None if nothing was left out."""
    sentences = []
    if unfit:
        what = counted(unfit, "span")
        sentences.append(
            f"{what} did not fit: call again for fewer spans or with a larger maxTokens."
        )
    if others > 0:
        sentences.append(f"{counted(others, 'span')} more have these ids in other traces.")
    if any(each.issues_left_out for each in data):
        sentences.append("More faults: call again with a larger maxTokens or fewer spans.")
    cut = next(
        ((each, part) for each in data for part in each.content or () if part.end < part.length),
        None,
    )
    if cut is not None:
        span, part = cut
        sentences.append(
            f"More text follows: call again with raw, spanIds [{span.span_id!r}], fields "
            f"[{part.field!r}] and offset {part.end}."
        )
    return " ".join(sentences) or None
