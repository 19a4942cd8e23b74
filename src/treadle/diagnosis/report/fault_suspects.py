"""Turns findings into suspects.

A fault that is probably the consequence of another fault gets a low score.
"""

import re
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from treadle.diagnosis.detectors import Finding, Kind, Severity
from treadle.diagnosis.evidence import SpanReference
from treadle.diagnosis.report.model import Cause, Suspect
from treadle.diagnosis.report.span_set import SpanSet
from treadle.diagnosis.span_times import reference
from treadle.spans.span import SpanKind, SpanStatus
from treadle.traces.fencing import inline
from treadle.traces.store.results import ListedSpan

BASES: Mapping[Cause, float] = {
    Cause.WRONG_ARGUMENT: 80,
    Cause.SWALLOWED_EXCEPTION: 76,
    Cause.UNKNOWN_TOOL: 74,
    Cause.FAILED_CALL: 70,
    Cause.NEVER_ENDED: 70,
    Cause.TRUNCATED_OUTPUT: 66,
    Cause.BAD_REPLY: 60,
    Cause.EMPTY_RESULT: 60,
    Cause.FAILED_STEP: 40,
    Cause.STOPPED_RUN: 40,
    Cause.DENIED_CALL: 40,
    Cause.UNANSWERED_CALL: 40,
    Cause.RULE_MATCH: 40,
}
"""The base score of each cause. The scores were fitted to test traces with planted faults."""

_OF_SEVERITY = {Severity.HIGH: 1.0, Severity.MEDIUM: 0.8, Severity.LOW: 0.5}
_RECOVERED = 0.35
_CONSEQUENCE = 0.12
_LATER = 0.9
_USUAL_EMPTY = 0.3
_STOPPED = 0.25
_OFTEN = 0.34
_MIN_CALLS = 4
_AKIN = 0.8
_LONG_US = 60_000_000
"""A span without an end counts as hung if its trace continued this long after the span's start."""
_RUNNING_US = 600_000_000
"""A span without an end may still run if it began less than this many microseconds ago."""

_OF_KIND = {
    Kind.SCHEMA_MISMATCH: Cause.WRONG_ARGUMENT,
    Kind.INVALID_ARGUMENTS: Cause.WRONG_ARGUMENT,
    Kind.UNKNOWN_TOOL: Cause.UNKNOWN_TOOL,
    Kind.TRUNCATED: Cause.TRUNCATED_OUTPUT,
    Kind.REFUSAL: Cause.BAD_REPLY,
    Kind.EMPTY_REPLY: Cause.BAD_REPLY,
    Kind.FILTERED: Cause.BAD_REPLY,
    Kind.PROVIDER_ERROR: Cause.BAD_REPLY,
    Kind.EMPTY_RESULT: Cause.EMPTY_RESULT,
    Kind.STOPPED: Cause.STOPPED_RUN,
    Kind.UNANSWERED_CALL: Cause.UNANSWERED_CALL,
    Kind.DENIED: Cause.DENIED_CALL,
    Kind.RULE: Cause.RULE_MATCH,
}
_FAILURES = frozenset({Cause.FAILED_CALL, Cause.FAILED_STEP, Cause.STOPPED_RUN})
"""Faults that spans pass on to the spans around them."""
_STATUS_IS_OK = "Its status is ok."
_ARGUMENT = re.compile(
    r"\b(?:unexpected|unknown|unrecognized|unrecognised|missing|required|extra|invalid|undefined)\b"
    r"[^.\n]{0,60}\b(?:arguments?|parameters?|params?|fields?|propert(?:y|ies)|keywords?)\b"
    r"|\b(?:arguments?|parameters?|params?|fields?|propert(?:y|ies))\b[^.\n]{0,60}"
    r"\b(?:is required|are required|missing|unexpected|unknown|not allowed|not permitted)\b",
    re.IGNORECASE,
)
_CALLS = {SpanKind.TOOL, SpanKind.RETRIEVAL, SpanKind.EMBEDDING, SpanKind.MODEL}


def fault_suspects(span_set: SpanSet) -> list[Suspect]:
    """Return the faults of the spans as suspects. A likelier cause has a higher score."""
    found = [
        suspect
        for finding in span_set.findings
        if (suspect := _of_finding(finding, span_set)) is not None
    ]
    found += _never_ended(span_set)
    return _without_consequences(_ordered(found, span_set), span_set)


def _of_finding(finding: Finding, span_set: SpanSet) -> Suspect | None:
    span = span_set.known.get(finding.evidence.span)
    # The status of a failed call and the error in its output are one fault.
    known = span is not None and finding.kind is Kind.PROVIDER_ERROR
    if span is None or (known and span.status is SpanStatus.ERROR):
        return None
    cause = _cause(finding, span)
    score = BASES[cause] * _OF_SEVERITY[finding.severity] * finding.confidence
    why = [finding.message]
    fault_span = span
    if cause is Cause.WRONG_ARGUMENT and span.kind is SpanKind.MODEL:
        fault_span = _call_made(finding, span, span_set) or span
    if cause is Cause.EMPTY_RESULT:
        # Severity does not count here, since an empty result may be harmless or fatal.
        score = BASES[cause] * finding.confidence
        often = _often_empty(span, span_set)
        if often is not None:
            score *= _USUAL_EMPTY
            why.append(often)
    if finding.kind is Kind.STOPPED:
        score *= _STOPPED
    unnoticed = cause in {Cause.FAILED_CALL, Cause.SWALLOWED_EXCEPTION}
    if unnoticed and span.status is SpanStatus.OK and _STATUS_IS_OK not in finding.message:
        why.append(_STATUS_IS_OK)
    if finding.also_in:
        number = len(finding.also_in)
        later = "1 later request contains" if number == 1 else f"{number} later requests contain"
        why.append(f"{later} this text.")
    suspect = Suspect(
        span=reference(fault_span),
        name=fault_span.name,
        kind=cause,
        severity=finding.severity,
        why=tuple(why),
        evidence=(finding.evidence,),
        score=score,
    )
    return after_recovery(suspect, fault_span, span_set)


def _cause(finding: Finding, span: ListedSpan) -> Cause:
    if finding.kind in _OF_KIND:
        return _OF_KIND[finding.kind]
    if span.kind is SpanKind.TOOL and _ARGUMENT.search(finding.evidence.quote):
        return Cause.WRONG_ARGUMENT
    if finding.kind is Kind.EXCEPTION and span.status is SpanStatus.OK:
        return Cause.SWALLOWED_EXCEPTION
    return Cause.FAILED_CALL if span.kind in _CALLS else Cause.FAILED_STEP


def _call_made(finding: Finding, span: ListedSpan, span_set: SpanSet) -> ListedSpan | None:
    """Return the span of the tool call that a finding in a model's reply is about, or None."""
    requests = span_set.fact(span).requests
    path = finding.evidence.field
    call_digest = next((each.call_digest for each in requests if each.path == path), None)
    after = span_set.by_trace[span.trace_id]
    return next(
        (
            each
            for each in after
            if each.kind is SpanKind.TOOL
            and each.start_us >= span.start_us
            and call_digest is not None
            and span_set.fact(each).call_digest == call_digest
        ),
        None,
    )


def _often_empty(span: ListedSpan, span_set: SpanSet) -> str | None:
    """Return the reason for a lower score if the tool often finds nothing, or None."""
    like = [each for each in span_set.spans if each.kind is span.kind and each.name == span.name]
    empty = sum(
        finding.kind is Kind.EMPTY_RESULT
        and (at := span_set.known.get(finding.evidence.span)) is not None
        and at.name == span.name
        for finding in span_set.findings
    )
    if len(like) >= _MIN_CALLS and empty >= _OFTEN * len(like):
        return f"{empty} of {len(like)} calls of {inline(span.name)} find nothing."
    return None


def after_recovery(suspect: Suspect, span: ListedSpan, span_set: SpanSet) -> Suspect:
    """Return the suspect, with a low score if a later attempt of its call succeeded."""
    if span.kind not in _CALLS or span.end_us is None:
        return suspect
    if span.kind is SpanKind.MODEL and span.status is not SpanStatus.ERROR:
        return suspect  # the reply was used, so the next call is not another attempt
    if any(reference(each) not in span_set.faulty for each in _tries(span, span_set)):
        why = (*suspect.why, "A later attempt succeeded.")
        score = suspect.score * _RECOVERED
        return replace(suspect, why=why, score=score, severity=Severity.LOW)
    return suspect


def _tries(span: ListedSpan, span_set: SpanSet) -> Iterator[ListedSpan]:
    """Yield later attempts of a call by the same caller.

    An attempt has the same name and the same arguments. The caller's next call also counts if it
    has the same name and either calls a model or has similar arguments.
    """
    call_digest = span_set.fact(span).call_digest
    of_model = span.kind is SpanKind.MODEL
    first = True
    for each in span_set.after(span):
        if of_model is not (each.kind is SpanKind.MODEL) or each.kind not in _CALLS:
            continue
        if each.kind is span.kind and each.name == span.name:
            same = call_digest is not None and span_set.fact(each).call_digest == call_digest
            if same or (first and (of_model or _is_similar(span, each, span_set))):
                yield each
        first = False


def _is_similar(span: ListedSpan, other: ListedSpan, span_set: SpanSet) -> bool:
    """Return whether the arguments of two calls are at least 80 % equal by characters or words."""
    one, two = span_set.fact(span).said, span_set.fact(other).said
    words = set(one.split()), set(two.split())
    shared = len(words[0] & words[1]) / max(1, min(map(len, words)))
    return shared >= _AKIN or SequenceMatcher(None, one, two, autojunk=False).ratio() >= _AKIN


def _never_ended(span_set: SpanSet) -> Iterator[Suspect]:
    for spans in span_set.by_trace.values():
        ends = [each.end_us for each in spans if each.end_us is not None]
        starts = [each.start_us for each in spans]
        last = max([*ends, *starts])
        open_spans = [each for each in spans if each.end_us is None]
        around = {above.span_id for each in open_spans for above in span_set.above(each)}
        for span in open_spans:
            parent = next(iter(span_set.above(span)), None)
            left = parent is not None and parent.end_us is not None
            hung = last - span.start_us >= _LONG_US
            inner = span.span_id not in around
            runs = 0 <= span_set.now_us - span.start_us < _RUNNING_US
            if not (left or hung or (inner and span.kind in _CALLS and not runs)):
                continue
            why = "No end was recorded"
            why += ", although its caller has ended." if left else "."
            yield Suspect(
                span=reference(span),
                name=span.name,
                kind=Cause.NEVER_ENDED,
                severity=Severity.HIGH if left or hung else Severity.LOW,
                why=(why,),
                score=BASES[Cause.NEVER_ENDED] * (1.0 if inner else _CONSEQUENCE)
                * (1.0 if left or hung else 0.5),
            )  # fmt: skip


def _ordered(suspects: Sequence[Suspect], span_set: SpanSet) -> list[Suspect]:
    """Return the suspects, with lower scores for faults after the first fault of their trace."""
    first: dict[str, int] = {}
    for suspect in suspects:
        if suspect.severity is not Severity.LOW:
            start = span_set.known[suspect.span].start_us
            first[suspect.span.trace_id] = min(start, first.get(suspect.span.trace_id, start))
    return [
        suspect
        if span_set.known[suspect.span].start_us <= first.get(suspect.span.trace_id, 0)
        else replace(suspect, score=suspect.score * _LATER)
        for suspect in suspects
    ]


def _without_consequences(suspects: Sequence[Suspect], span_set: SpanSet) -> list[Suspect]:
    """Return the suspects without those that only repeat the fault of a span inside them.

    The suspect of the inner span lists the outer spans in `involved`. If an outer span continued
    after the inner fault, its own fault may have another cause. Its suspect is kept with a lower
    score.
    """
    at: dict[SpanReference, list[Suspect]] = defaultdict(list)
    for suspect in suspects:
        at[suspect.span].append(suspect)
    repeated: dict[SpanReference, set[SpanReference]] = defaultdict(set)
    followed: set[SpanReference] = set()
    for inner, causes in at.items():
        for above in span_set.above(span_set.known[inner]):
            outer = at.get(reference(above), ())
            if any(_reaches(cause, each, span_set) for cause in causes for each in outer):
                repeated[reference(above)].add(inner)
            if outer and any(cause.severity is not Severity.LOW for cause in causes):
                followed.add(reference(above))
    around: dict[SpanReference, list[SpanReference]] = defaultdict(list)
    for outer_span in sorted(repeated):
        for inner in repeated[outer_span] - repeated.keys():
            around[inner].append(outer_span)
    return [
        _with_consequences(suspect, around[suspect.span], followed)
        for suspect in suspects
        if suspect.span not in repeated or suspect.kind not in _FAILURES
    ]


def _reaches(cause: Suspect, outer: Suspect, span_set: SpanSet) -> bool:
    """Return whether the failure of an outer span is the failure of a span inside it."""
    if outer.kind not in _FAILURES or cause.kind is Cause.EMPTY_RESULT:
        return False
    if {_quote(cause)} & {_quote(outer)} - {""}:
        return True
    inner, around = span_set.known[cause.span], span_set.known[outer.span]
    if cause.severity is Severity.LOW or inner.end_us is None or around.end_us is None:
        return cause.severity is not Severity.LOW
    return not span_set.begins_between(inner.trace_id, inner.end_us, around.end_us)


def _quote(suspect: Suspect) -> str:
    return suspect.evidence[0].quote if suspect.evidence else ""


def _with_consequences(
    suspect: Suspect, around: Sequence[SpanReference], followed: Container[SpanReference]
) -> Suspect:
    if suspect.span in followed and suspect.kind is not Cause.NEVER_ENDED:
        why = (*suspect.why, "A span inside it failed first.")
        return replace(suspect, why=why, score=suspect.score * _CONSEQUENCE)
    if not around:
        return suspect
    also = "The span around it ended with an error too."
    if len(around) > 1:
        also = f"The {len(around)} spans around it ended with errors too."
    why = (*suspect.why, also)
    return replace(suspect, why=why, involved=(*suspect.involved, *around))
