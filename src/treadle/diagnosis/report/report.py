"""Analyses the spans of a query with fixed rules, without a model."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from treadle.diagnosis.detectors import Kind, Rule, Severity
from treadle.diagnosis.periods import Change, period_of, within
from treadle.diagnosis.quote_verification import CachedSpans, SpanSource, has_quote
from treadle.diagnosis.repeated_failures import RepeatedFailure, repeated_failures
from treadle.diagnosis.report.figures import figures_of, tables_of
from treadle.diagnosis.report.model import Cause, Focus, Recommendation, Report, Suspect
from treadle.diagnosis.report.span_set import (
    MAX_READ_SPANS,
    AnalysisReader,
    SpanSet,
    read_span_set,
)
from treadle.diagnosis.report.suspect_ranking import suspects
from treadle.diagnosis.span_times import reference
from treadle.spans.span import SpanStatus
from treadle.traces.amounts import cost, duration
from treadle.traces.fencing import inline
from treadle.traces.own_spans import without_own
from treadle.traces.query.conditions import Query
from treadle.traces.store.results import Summary

MAX_ISSUES = 20
_FAILURES = {Kind.STATUS, Kind.EXCEPTION}
"""The failures that spans pass on to the spans around them."""


def analyse(
    reader: AnalysisReader,
    query: Query,
    *,
    rules: Sequence[Rule] = (),
    focus: Focus = Focus.EVERYTHING,
    now_us: int,
    most_read: int = MAX_READ_SPANS,
    most_issues: int = MAX_ISSUES,
) -> Report:
    """Return the report on the spans that match `query`.

    The call blocks, so run it in a thread. The same spans, query and `now_us` give the same report.
    `now_us` is in Unix microseconds. A period without an end ends at `now_us`. Treadle's own calls
    are left out unless the query asks for them (`without_own`). Causes are searched in the newest
    `most_read` spans. Figures cover all matching spans. Raises StoreError when reading fails or
    takes too long.
    """
    query = without_own(query)
    change = _change(reader, query, now_us)
    if change is not None:
        query = within(query, change.period)
    summary = change.now if change is not None else reader.summary(query)
    span_set = read_span_set(reader, query, rules=rules, most=most_read)
    found = suspects(span_set, focus)
    issues, _ = verified_suspects(found[:most_issues], reader)
    return Report(
        total=summary.sums.totals.spans,
        read=len(span_set.spans),
        summary=summary_of(summary, span_set, issues, focus),
        figures=figures_of(reader, query, summary, change.before if change else None),
        tables=tables_of(summary, span_set, focus),
        repeated=_repeated(span_set),
        issues=issues,
        issues_left_out=max(0, len(found) - most_issues),
        recommendations=recommendations(issues),
    )


def verified_suspects(
    suspects: Sequence[Suspect], source: SpanSource
) -> tuple[tuple[Suspect, ...], int]:
    """Return the suspects with their verified quotes, and the number of wrong quotes.

    A suspect is left out if its span does not exist or if all of its quotes are wrong.
    """
    spans = CachedSpans(source)
    kept, wrong = list[Suspect](), 0
    for each in suspects:
        good = tuple(evidence for evidence in each.evidence if has_quote(evidence, spans))
        wrong += len(each.evidence) - len(good)
        if spans.get(each.span) is not None and (good or not each.evidence):
            kept.append(replace(each, evidence=good))
    return tuple(kept), wrong


def _repeated(span_set: SpanSet) -> tuple[RepeatedFailure, ...]:
    """Return the repeated failures in `span_set`, each with the name of its tool or span.

    A failure that reaches the spans around it counts once, at the innermost span.
    """
    outer = {
        reference(above)
        for span in span_set.spans
        if span.status is SpanStatus.ERROR
        for above in span_set.above(span)
    }
    known = [
        each
        for each in span_set.findings
        if each.evidence.span in span_set.known
        and not (each.kind in _FAILURES and each.evidence.span in outer)
    ]
    return tuple(
        replace(each, name=each.name or span_set.known[each.first.evidence.span].name)
        for each in repeated_failures(known)
    )


def _change(reader: AnalysisReader, query: Query, now_us: int) -> Change | None:
    """Return the figures of a query's period and of the preceding one.

    The result is None if the query has no period.
    """
    period = period_of(query, now_us)
    if period is None:
        return None
    return Change(
        now=reader.summary(within(query, period)),
        before=reader.summary(within(query, period.before)),
        period=period,
    )


MAX_ADVICE = 5

_ADVICE: Mapping[Cause, str] = {
    Cause.FAILED_CALL: "Find the reason of the failure, and report it to the caller by a status",
    Cause.SWALLOWED_EXCEPTION: "Let the exception end the call with an error status",
    Cause.EMPTY_RESULT: "Check whether its arguments can match, and report an empty result",
    Cause.ODD_RESULT: "Check why the result differs, and report the reason by a status",
    Cause.WRONG_ARGUMENT: "Reject unknown arguments by name, and check the schema of the tool",
    Cause.UNKNOWN_TOOL: "Offer the tool, or remove its name from the prompt",
    Cause.LOOP: "Stop a call that repeats an earlier answer, and report that to the model",
    Cause.RETRIES: "Fix the cause of the failure, and retry with a limit and increasing delays",
    Cause.POLLING: "Wait for the change in the tool, with a limit",
    Cause.SLOW_STEP: "Check what it waited for, and set a time-out",
    Cause.NEVER_ENDED: "Check whether its process ended early, and set a time-out",
    Cause.TRUNCATED_OUTPUT: "Raise the limit of output tokens, or request less at a time",
    Cause.BAD_REPLY: "Read the request as the model received it, and try it in an experiment",
    Cause.CONTRADICTORY_PROMPT: "Remove one of the two instructions, and try it in an experiment",
    Cause.OTHER_MODEL: "Check which setting selects its model",
    Cause.CACHE_MISS: "Keep the beginning of requests unchanged, and put variable text at the end",
    Cause.COST_SPIKE: "Read its request, and remove text that it does not need",
    Cause.LARGE_RESULT: "Limit the size of the result, and offer the rest in pages",
    Cause.FAULT: "Read the span",
}


def summary_of(
    summary: Summary, span_set: SpanSet, issues: Sequence[Suspect], focus: Focus
) -> tuple[str, ...]:
    """Return the summary of a report, in a few sentences."""
    totals = summary.sums.totals
    if not totals.spans:
        return ("No recorded span matches the query.",)
    traces = len(span_set.by_trace)
    wall, errors = duration(summary.wall_us), summary.sums.errors
    spent = "cost unknown" if totals.cost is None else cost(totals.cost)
    sentences = [
        (
            f"{_count(totals.spans, 'span')} in {wall}: {_count(totals.model_calls, 'model call')},"
            f" {_count(totals.tool_calls, 'tool call')}, {_count(errors, 'failed span')}, {spent}."
        )
    ]
    if len(span_set.spans) < totals.spans:
        sentences.append(
            f"The causes are from the newest {len(span_set.spans):,} spans"
            f" ({_count(traces, 'trace')})."
        )
    if span_set.unexamined:
        sentences.append(
            f"The detectors have not examined {_count(span_set.unexamined, 'new span')} yet."
        )
    worth = [each for each in issues if each.severity is not Severity.LOW]
    if issues and worth:
        first = issues[0]
        sentences.append(
            f"The likeliest cause: {first.kind.value} at {inline(first.name)}: {first.why[0]}"
        )
    elif issues:
        sentences.append("There is no likely cause. The issues below are minor.")
    else:
        subject = "" if focus is Focus.EVERYTHING else f" that affects {focus.value}"
        sentences.append(f"No fault was found{subject}.")
    return tuple(sentences)


def recommendations(issues: Sequence[Suspect]) -> tuple[Recommendation, ...]:
    """Return the advice for the likeliest causes, without duplicates."""
    advice: dict[str, Recommendation] = {}
    for each in issues:
        sentence = _ADVICE[each.kind]
        if each.severity is not Severity.LOW and sentence not in advice:
            advice[sentence] = Recommendation(sentence, each.name, each.span)
    return tuple(advice.values())[:MAX_ADVICE]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
