"""Analyses the spans of a query with fixed rules, without a model."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from treadle.diagnosis.detectors import Rule, Severity
from treadle.diagnosis.periods import Change, period_of, within
from treadle.diagnosis.quote_verification import CachedSpans, SpanSource, has_quote
from treadle.diagnosis.report.figures import (
    PeriodFigures,
    efficiency,
    figures_of,
    tables_of,
)
from treadle.diagnosis.report.model import Cause, Focus, Recommendation, Report, Suspect
from treadle.diagnosis.report.span_set import (
    MAX_READ_SPANS,
    AnalysisReader,
    SpanSet,
    read_span_set,
)
from treadle.diagnosis.report.suspect_ranking import suspects
from treadle.spans.span import SpanStatus
from treadle.traces.amounts import cost, duration
from treadle.traces.own_spans import without_own
from treadle.traces.query.conditions import Query
from treadle.traces.query.moments import write_moment

MAX_ISSUES = 20


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
    now = PeriodFigures(summary, efficiency(reader, query, summary))
    before = None
    if change is not None:
        earlier = within(query, change.period.before)
        before = PeriodFigures(change.before, efficiency(reader, earlier, change.before))
    span_set = read_span_set(reader, query, rules=rules, now_us=now_us, most=most_read)
    found = suspects(span_set, focus)
    issues, _ = verified_suspects(found[:most_issues], reader)
    return Report(
        total=summary.sums.totals.spans,
        read=len(span_set.spans),
        summary=summary_of(now, span_set),
        figures=figures_of(now, before),
        tables=tables_of(summary, span_set, focus),
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

_FIX = "Remove the reason of the error, or handle the error in the program"
_ADVICE: Mapping[Cause, str] = {
    Cause.FAILED_CALL: _FIX,
    Cause.FAILED_STEP: _FIX,
    Cause.SWALLOWED_EXCEPTION: "End the call with an error status, so that its caller can react",
    Cause.EMPTY_RESULT: "Check whether the arguments can match anything",
    Cause.ODD_RESULT: "Check why the result differs from the others",
    Cause.WRONG_ARGUMENT: "Reject unknown arguments with an error that lists the valid names",
    Cause.UNKNOWN_TOOL: "Offer the tool, or remove its name from the prompt",
    Cause.LOOP: "Make the agent stop when a call repeats an earlier answer",
    Cause.RETRIES: "Remove the reason of the failure, and limit the number of retries",
    Cause.SLOW_STEP: "Check what the span waited for, and set a time limit",
    Cause.NEVER_ENDED: "Check whether the process ended early, and set a time limit",
    Cause.TRUNCATED_OUTPUT: "Raise the limit of output tokens, or request a shorter reply",
    Cause.BAD_REPLY: "Read the request as the model received it, and change it in an experiment",
    Cause.CONTRADICTORY_PROMPT: "Remove one of the two instructions",
    Cause.OTHER_MODEL: "Check which setting selects the model",
    Cause.CACHE_MISS: "Keep the beginning of requests unchanged, and put variable text at the end",
    Cause.COST_SPIKE: "Compare the tokens with those of similar calls, and shorten the longer text",
    Cause.LARGE_RESULT: "Limit the size of the result, and let the model request more in pages",
    Cause.STOPPED_RUN: "Check whether the limit fits the task",
    Cause.UNANSWERED_CALL: "Add the result of each tool call to the next request",
}
"""The advice for causes. The causes without advice need no change of the program."""


def summary_of(now: PeriodFigures, span_set: SpanSet) -> tuple[str, ...]:
    """Return the counts of a report in a few sentences."""
    totals, runs = now.summary.sums.totals, now.runs
    if not totals.spans:
        return ("No recorded span matches the query.",)
    made = (("model call", totals.model_calls), ("tool call", totals.tool_calls))
    calls = " and ".join(_count(number, noun) for noun, number in made if number) or "no calls"
    subject = _count(runs.runs, "run") if runs.runs else _count(totals.spans, "span")
    outcomes = [
        f"{runs.statuses[status]:,} {word}"
        for status, word in _OUTCOMES.items()
        if runs.statuses.get(status)
    ]
    outcome = f" ({', '.join(outcomes)})" if outcomes else ""
    failed = f" ({totals.failed:,} failed)" if totals.failed else ""
    spent = "an unknown amount" if totals.cost is None else cost(totals.cost)
    if totals.cost is not None and totals.unpriced:
        spent += f", without {_count(totals.unpriced, 'call')} of unknown price"
    sentences = [
        f"{subject}{outcome} with {calls}{failed} cost {spent}.",
        (
            f"The first span began at {_minute(now.summary.start_us or 0)}, and the last span ended"
            f" {duration(now.summary.wall_us)} later."
        ),
    ]
    if len(span_set.spans) < totals.spans:
        sentences.append(
            f"The issues are from the newest {len(span_set.spans):,} spans"
            f" ({_count(len(span_set.by_trace), 'trace')})."
        )
    if span_set.unexamined:
        sentences.append(
            f"The detectors have not examined {_count(span_set.unexamined, 'new span')} yet."
        )
    return tuple(sentences)


_OUTCOMES = {
    SpanStatus.ERROR: "failed",
    SpanStatus.CANCELLED: "cancelled",
    SpanStatus.DENIED: "denied",
    SpanStatus.UNFINISHED: "unfinished",
}


def recommendations(issues: Sequence[Suspect]) -> tuple[Recommendation, ...]:
    """Return the advice for the likeliest causes, without duplicates."""
    advice: dict[str, Recommendation] = {}
    for each in issues:
        sentence = _ADVICE.get(each.kind)
        if sentence is not None and each.severity is not Severity.LOW and sentence not in advice:
            advice[sentence] = Recommendation(sentence, each.name, each.span)
    return tuple(advice.values())[:MAX_ADVICE]


def _minute(at_us: int) -> str:
    return f"{write_moment(at_us)[:16].replace('T', ' ')} UTC"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
