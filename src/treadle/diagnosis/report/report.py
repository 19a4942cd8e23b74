"""A question about recorded spans, answered by rules alone: figures, causes, what to do."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from treadle.diagnosis.detectors import Rule, Severity
from treadle.diagnosis.periods import Change, period_of, within
from treadle.diagnosis.quote_verification import CachedSpans, SpanSource, has_quote
from treadle.diagnosis.repeated_failures import RepeatedFailure, repeated_failures
from treadle.diagnosis.report.figures import figures_of, tables_of
from treadle.diagnosis.report.model import Cause, Focus, Report, Suspect
from treadle.diagnosis.report.span_set import (
    MOST_READ,
    AnalysisReader,
    SpanSet,
    read_span_set,
)
from treadle.diagnosis.report.suspect_ranking import suspects
from treadle.traces.amounts import cost, duration
from treadle.traces.fencing import inline
from treadle.traces.own_spans import without_own
from treadle.traces.query.conditions import Query
from treadle.traces.query.writing import format_query
from treadle.traces.store.results import Summary

MOST_ISSUES = 20


def analyse(
    reader: AnalysisReader,
    query: Query,
    *,
    rules: Sequence[Rule] = (),
    focus: Focus = Focus.EVERYTHING,
    now_us: int,
    most_read: int = MOST_READ,
    most_issues: int = MOST_ISSUES,
) -> Report:
    """The report on the spans that fit `query`; it blocks, so call it in a thread.

    The same spans, question and `now_us` (Unix microseconds, only the end of a period that has
    none) give the same report. What the analyst itself did is left out unless ids or labels are
    asked for. Causes are looked for in the newest `most_read` spans, of which little more than
    the contents are kept at once; all figures are of all spans. Raises StoreError when reading
    fails or takes too long.
    """
    query = without_own(query)
    question = format_query(query)
    change = _change(reader, query, now_us)
    if change is not None:
        query = within(query, change.period)
    summary = change.now if change is not None else reader.summary(query)
    material = read_span_set(reader, query, rules=rules, most=most_read)
    found = suspects(material, focus)
    issues, unverified = verified_suspects(found[:most_issues], reader)
    return Report(
        question=question,
        focus=focus,
        snapshot=summary.snapshot,
        total=summary.sums.totals.spans,
        read=len(material.spans),
        summary=summary_of(summary, material, issues, focus),
        figures=figures_of(reader, query, summary, change.before if change else None),
        tables=tables_of(summary, material, focus),
        repeated=_repeated(material),
        issues=issues,
        issues_left_out=max(0, len(found) - most_issues),
        recommendations=recommendations(issues),
        unverified=unverified,
    )


def verified_suspects(
    suspects: Sequence[Suspect], source: SpanSource
) -> tuple[tuple[Suspect, ...], int]:
    """The suspects whose span exists, with verified evidence, and the number of wrong quotes.

    A suspect whose quotes are all wrong is left out.
    """
    spans = CachedSpans(source)
    kept, wrong = list[Suspect](), 0
    for each in suspects:
        good = tuple(evidence for evidence in each.evidence if has_quote(evidence, spans))
        wrong += len(each.evidence) - len(good)
        if spans.get(each.span) is not None and (good or not each.evidence):
            kept.append(replace(each, evidence=good))
    return tuple(kept), wrong


def _repeated(material: SpanSet) -> tuple[RepeatedFailure, ...]:
    """The repeated failures of the spans that were read, each with a name."""
    known = [each for each in material.findings if each.evidence.span in material.known]
    return tuple(
        replace(each, name=each.name or material.known[each.first.evidence.span].name)
        for each in repeated_failures(known)
    )


def _change(reader: AnalysisReader, query: Query, now_us: int) -> Change | None:
    """The figures of the period that a query names, and of the one before."""
    period = period_of(query, now_us)
    if period is None:
        return None
    return Change(
        now=reader.summary(within(query, period)),
        before=reader.summary(within(query, period.before)),
        period=period,
    )


MOST_ADVICE = 5

_ADVICE: Mapping[Cause, str] = {
    Cause.FAILED_CALL: "Find out why it failed, and tell its caller so by a status",
    Cause.SWALLOWED_EXCEPTION: "Let the exception end the call with an error, so that it is seen",
    Cause.EMPTY_RESULT: "See whether its arguments could find anything, and say so when not",
    Cause.ODD_RESULT: "See what the tool met, and let it say so by a status",
    Cause.WRONG_ARGUMENT: "Refuse by name what the tool has no argument for, and check its schema",
    Cause.UNKNOWN_TOOL: "Offer the tool, or take its name out of the prompt",
    Cause.LOOP: "Stop a call that was made before with the same answer, and tell the model that",
    Cause.RETRIES: "Mend the cause of the failure, and retry with a limit and a growing wait",
    Cause.POLLING: "Wait for the change in the tool, with a limit",
    Cause.SLOW_STEP: "See what it waited for, and give it a time-out",
    Cause.NEVER_ENDED: "See whether its process ended in the middle, and give the call a time-out",
    Cause.TRUNCATED_OUTPUT: "Raise the limit of output tokens, or ask for less at once",
    Cause.BAD_REPLY: "Read the request as the model got it, and try it in an experiment",
    Cause.CONTRADICTORY_PROMPT: "Take one of the two instructions out, and try it in an experiment",
    Cause.OTHER_MODEL: "Check where its model is set",
    Cause.CACHE_MISS: "Keep the beginning of requests the same, and what changes at their end",
    Cause.COST_SPIKE: "Look at what its request holds, and leave out what it does not need",
    Cause.LARGE_RESULT: "Bound the result of the tool, with a way to get the rest",
    Cause.FAULT: "Look at the span",
}


def summary_of(
    summary: Summary, material: SpanSet, issues: Sequence[Suspect], focus: Focus
) -> tuple[str, ...]:
    """What a report comes to, in a few sentences."""
    totals = summary.sums.totals
    if not totals.spans:
        return ("No recorded span fits the question.",)
    traces = len(material.by_trace)
    wall, errors = duration(summary.wall_us), summary.sums.errors
    spent = "cost unknown" if totals.cost is None else cost(totals.cost)
    sentences = [
        (
            f"{_count(totals.spans, 'span')} in {wall}: {_count(totals.model_calls, 'model call')},"
            f" {_count(totals.tool_calls, 'tool call')}, {_count(errors, 'error')}, {spent}."
        )
    ]
    if len(material.spans) < totals.spans:
        sentences.append(
            f"Causes were looked for in the newest {len(material.spans):,} of them"
            f" ({_count(traces, 'trace')})."
        )
    if material.unexamined:
        sentences.append(
            f"At {_count(material.unexamined, 'new span')} no detector has looked yet."
        )
    worth = [each for each in issues if each.severity is not Severity.LOW]
    if issues and worth:
        first = issues[0]
        sentences.append(
            f"The likeliest cause: {first.kind.value} at {inline(first.name)}: {first.why[0]}"
        )
    elif issues:
        sentences.append("Nothing stands out; what is named below is of little weight.")
    else:
        looked = "" if focus is Focus.EVERYTHING else f" where {focus.value} are at stake"
        sentences.append(f"No fault was found{looked}.")
    return tuple(sentences)


def recommendations(issues: Sequence[Suspect]) -> tuple[str, ...]:
    """What to do about the likeliest causes, each piece of advice once."""
    advice: dict[str, str] = {}
    for each in issues:
        said = _ADVICE[each.kind]
        if each.severity is not Severity.LOW and said not in advice:
            advice[said] = f"{said}: {inline(each.name)} ({each.link})."
    return tuple(advice.values())[:MOST_ADVICE]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
