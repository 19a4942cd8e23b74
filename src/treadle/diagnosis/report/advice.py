"""The sentences of a report: what it comes to, and what to do about each cause."""

from collections.abc import Mapping, Sequence

from treadle.diagnosis.detectors import Severity
from treadle.diagnosis.report.material import Material
from treadle.diagnosis.report.results import Cause, Focus, Suspect
from treadle.traces.amounts import cost, duration
from treadle.traces.fencing import inline
from treadle.traces.store.results import Summary

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
    summary: Summary, material: Material, issues: Sequence[Suspect], focus: Focus
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
