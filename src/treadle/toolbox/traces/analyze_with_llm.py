"""analyze_with_llm: asks a model for faults in spans, with quotes as evidence."""

from collections.abc import Awaitable, Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator, Field

from treadle.diagnosis.detectors import Finding, Rule, detect
from treadle.diagnosis.evidence import SpanReference
from treadle.diagnosis.report.model import Focus
from treadle.errors import TreadleError
from treadle.events.types import Purpose, ToolView
from treadle.llm.chat_model import ChatModel, ModelReplacedError
from treadle.session.session_events import ReplyObserver
from treadle.spans.page_links import span_link
from treadle.spans.span import Span
from treadle.tokens import estimate
from treadle.toolbox.answers import BRIEF_TOKENS, MaxTokens, if_any
from treadle.toolbox.traces.fault_rows import Issue, issue
from treadle.toolbox.traces.pages import Counts, filled, left_out
from treadle.toolbox.traces.trace_tool import (
    AnswerPart,
    TraceReader,
    TraceResult,
    TraceTool,
    as_list,
)
from treadle.toolbox.traces.verdicts import (
    MAX_OUTPUT_TOKENS,
    REQUEST_VERSION,
    QuotedClaim,
    VerdictCache,
    Verdicts,
    quoted_verdicts,
    verdict_request,
    without_duplicates,
)
from treadle.toolbox.wording import counted
from treadle.tools.contract import Arguments, ToolContext, ToolEffect
from treadle.traces.fencing import quotable
from treadle.traces.query import Field as About
from treadle.traces.query import Query, any_of

MAX_SPANS = 20
"""The maximum number of spans in one request."""
_MAX_CHARACTERS = 48_000
"""The maximum number of characters of recorded text in one request, about 12,000 tokens."""
_CHARACTERS_A_TOKEN = 2
"""The assumed minimum number of characters per token, for text in any language."""

Connect = Callable[[], Awaitable[ChatModel]]


class AnalyzeWithLlmArguments(Arguments):
    """The spans, and the kind of fault to look for."""

    spanIds: Annotated[
        tuple[str, ...],
        Field(
            min_length=1,
            max_length=1_000,
            description="The spans; the first 20 with distinct content are read.",
        ),
        BeforeValidator(as_list),
    ]
    focus: Annotated[Focus, Field(description="What to look for.")] = Focus.EVERYTHING
    maxTokens: MaxTokens = BRIEF_TOKENS


class Verdict(AnswerPart):
    """A fault that the model reports, with a verified quote.

    `context` is the quote: characters `start` to `end` of the text at the path `field` of the span.
    """

    span_id: str
    issue: str
    severity: str
    context: str
    field: str
    start: int
    end: int
    link: str


class FoundIssue(Issue):
    """A finding of a detector, with the id of its span."""

    span_id: str


class Duplicate(AnswerPart):
    """A span with the same content as another span."""

    span_id: str
    same_as: str


class AnalyzeWithLlmResult(TraceResult):
    """Verdicts of a model, and findings of the detectors, on the same spans.

    `spans` is the number of these spans. `not_read` is the number of requested spans beyond the
    limit of a call. `not_found` has the requested ids that no span has. `unverified` is the number
    of verdicts that were removed, because they are malformed or their quotes are not in the span.
    If no model could be called, `verdicts` is empty and `note` states the reason.
    """

    type: str = "verdicts"
    focus: Focus
    model: str | None
    note: str | None = if_any()
    spans: int
    not_read: int | None = if_any()
    not_found: list[str]
    same_content: tuple[Duplicate, ...] = if_any()
    verdicts: list[Verdict]
    unverified: int
    findings: list[FoundIssue]
    left_out: dict[str, int] | None = if_any()
    more: str | None = if_any()
    cached: bool | None = if_any("_cached")


@dataclass(frozen=True, slots=True)
class _Sample:
    """The spans to evaluate. `revisions` has the trace id, span id and revision of each span."""

    spans: tuple[Span, ...]
    revisions: tuple[tuple[str, str, int], ...]
    findings: tuple[Finding, ...]
    duplicates: tuple[Duplicate, ...]
    missing: tuple[str, ...]
    not_read: int


@dataclass(frozen=True, slots=True)
class _Opinion:
    """The verdicts of a model.

    If no model answered, `model` is None and `note` states the reason.
    """

    verdicts: Verdicts
    model: str | None
    note: str | None = None
    cached: bool = False


_NO_VERDICTS = Verdicts((), 0)


class AnalyzeWithLlm(TraceTool[AnalyzeWithLlmArguments, AnalyzeWithLlmResult]):
    """Asks a model to evaluate spans."""

    name = "analyze_with_llm"
    description = (
        "Have a language model evaluate up to 20 recorded spans for what detectors cannot find: "
        "wrong reasoning, contradictory instructions, results that miss the question. Quotes that "
        "are not in the span are dropped. It costs a model call: narrow the spans down with "
        "fetch_spans_summary first."
    )
    effect = ToolEffect.SPENDS
    arguments = AnalyzeWithLlmArguments
    result = AnalyzeWithLlmResult
    timeout = 180.0

    def __init__(
        self, reader: TraceReader, rules: Sequence[Rule] = (), connect: Connect | None = None
    ) -> None:
        super().__init__(reader)
        self._rules = rules
        self._connect = connect
        self._cache = VerdictCache()

    async def run(
        self, arguments: AnalyzeWithLlmArguments, context: ToolContext
    ) -> AnalyzeWithLlmResult:
        sample = await context.in_thread(lambda: self._sample(arguments))
        opinion = _Opinion(_NO_VERDICTS, None)
        if sample.spans:
            opinion = await self._opinion(sample, arguments.focus, context)
        return _answer(sample, opinion, arguments)

    def answer(self, arguments: AnalyzeWithLlmArguments, now_us: int) -> AnalyzeWithLlmResult:  # noqa: ARG002
        return _answer(self._sample(arguments), _Opinion(_NO_VERDICTS, None), arguments)

    def view(
        self,
        arguments: AnalyzeWithLlmArguments,  # noqa: ARG002
        result: AnalyzeWithLlmResult,
    ) -> ToolView:
        verdicts = counted(len(result.verdicts), "verdict")
        return ToolView(f"{verdicts} on {counted(result.spans, 'span')}, of {result.model}")

    def _sample(self, arguments: AnalyzeWithLlmArguments) -> _Sample:
        requested_ids = tuple(dict.fromkeys(arguments.spanIds))
        listed = self._reader.spans(Query((any_of(About.SPAN, requested_ids),)), limit=1_000).data
        order = {span_id: place for place, span_id in enumerate(requested_ids)}
        listed = tuple(sorted(listed, key=lambda each: (order[each.span_id], -each.key)))
        read = [
            (each, span)
            for each in listed[: 2 * MAX_SPANS]
            if (span := self._reader.span(each.trace_id, each.span_id)) is not None
        ]
        different, duplicates = without_duplicates([span for _, span in read])
        chosen = different[:MAX_SPANS]
        names = {SpanReference(span.trace_id, span.span_id) for span in chosen}
        return _Sample(
            spans=tuple(chosen),
            revisions=tuple(
                (each.trace_id, each.span_id, each.revision)
                for each, span in read
                if SpanReference(span.trace_id, span.span_id) in names
            ),
            findings=detect(chosen, self._rules),
            duplicates=tuple(
                Duplicate(span_id=duplicate.span_id, same_as=first.span_id)
                for duplicate, first in duplicates.items()
            ),
            missing=tuple(
                each for each in requested_ids if all(each != one.span_id for one in listed)
            ),
            not_read=len(listed) - len(chosen) - len(duplicates),
        )

    async def _opinion(self, sample: _Sample, focus: Focus, context: ToolContext) -> _Opinion:
        if self._connect is None:
            return _Opinion(_NO_VERDICTS, None, _without_model("there is none"))
        try:
            model = await self._connect()
        except TreadleError as error:
            return _Opinion(_NO_VERDICTS, None, _without_model(error.message))
        try:
            while True:
                with suppress(ModelReplacedError):  # retry until no fallback model is left
                    return await self._asked(model, sample, focus, context)
        except TreadleError as error:
            return _Opinion(_NO_VERDICTS, None, _without_model(error.message))
        finally:
            await model.close()

    async def _asked(
        self, model: ChatModel, sample: _Sample, focus: Focus, context: ToolContext
    ) -> _Opinion:
        named = f"{model.provider}/{model.model}"
        request_key: Hashable = (REQUEST_VERSION, named, focus, sample.revisions)
        verdicts = self._cache.get(request_key, context.clock.monotonic())
        if verdicts is not None:
            return _Opinion(verdicts, named, _note(verdicts), cached=True)
        room = (model.context_window - MAX_OUTPUT_TOKENS) // 2 * _CHARACTERS_A_TOKEN
        request = verdict_request(
            sample.spans, sample.findings, focus, characters=min(_MAX_CHARACTERS, room)
        )
        observer = ReplyObserver(
            context,
            context.request_id,
            0,
            model,
            estimated_tokens=sum(estimate(getattr(each, "text", "")) for each in request.messages),
            draft=None,
            purpose=Purpose.REPLY,
        )
        reply = await model.complete(request, observer)
        text = reply.message.text or ""
        verdicts = await context.in_thread(lambda: quoted_verdicts(text, sample.spans))
        if verdicts.readable:
            self._cache.put(request_key, verdicts, context.clock.monotonic())
        return _Opinion(verdicts, named, _note(verdicts))


def _without_model(why: str) -> str:
    return f"No model was called ({why.rstrip('.')}): these findings come only from the detectors."


def _note(verdicts: Verdicts) -> str | None:
    return None if verdicts.readable else "The model's answer did not follow the requested format."


def _answer(
    sample: _Sample, opinion: _Opinion, arguments: AnalyzeWithLlmArguments
) -> AnalyzeWithLlmResult:
    verdicts = [_verdict(each) for each in opinion.verdicts.quoted]
    findings = [
        FoundIssue(**issue(each).model_dump(), span_id=each.evidence.span.span_id)
        for each in sample.findings
    ]
    full = {
        "verdicts": len(verdicts),
        "findings": len(findings),
        "same_content": len(sample.duplicates),
        "not_found": len(sample.missing),
    }

    def built(counts: Counts) -> AnalyzeWithLlmResult:
        cut = left_out(full, counts)
        return AnalyzeWithLlmResult(
            focus=arguments.focus,
            model=opinion.model,
            note=opinion.note,
            spans=len(sample.spans),
            not_read=sample.not_read or None,
            not_found=list(sample.missing[: counts["not_found"]]),
            same_content=sample.duplicates[: counts["same_content"]],
            verdicts=verdicts[: counts["verdicts"]],
            unverified=opinion.verdicts.unverified,
            findings=findings[: counts["findings"]],
            left_out=cut,
            more="Call again with a larger maxTokens for the rest." if cut else None,
            cached=opinion.cached or None,
        )

    return filled(full, built, arguments.maxTokens)


def _verdict(claim: QuotedClaim) -> Verdict:
    place = claim.evidence
    return Verdict(
        span_id=place.span.span_id,
        issue=quotable(claim.claim.issue, limit=400),
        severity=claim.claim.severity,
        context=quotable(place.quote, limit=240),
        field=place.field,
        start=place.start,
        end=place.end,
        link=span_link(place.span.trace_id, place.span.span_id),
    )
