"""States the most important differences between two compared sides in one line."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from treadle.diagnosis.comparison_records import ComparedSide, ToolCount
from treadle.events.types import Usage
from treadle.traces.amounts import cost, duration


@dataclass(frozen=True, slots=True)
class SameTexts:
    """Whether both sides have the same texts. None: one side does not have the text."""

    question: bool | None
    instructions: bool | None
    answer: bool | None


def summarize(
    a: ComparedSide,
    b: ComparedSide,
    tools: Sequence[ToolCount],
    same: SameTexts,
) -> str:
    """Return the differences of B from A as one or two sentences."""
    if a.subject == b.subject:
        return f"A and B are the same {a.subject.kind}."
    instructions = ["other system message"] if same.instructions is False else []
    facts = [*_names(a, b), *instructions, *_facts(a, b, tools)]
    facts += _same_or_other(same.answer, "answer")
    sentences = (", ".join(_same_or_other(same.question, "question")), ", ".join(facts))
    return " ".join(f"{each[0].upper()}{each[1:]}." for each in sentences if each)


def _same_or_other(same: bool | None, noun: str) -> Iterator[str]:
    if same is not None:
        yield f"{'same' if same else 'other'} {noun}"


def _names(a: ComparedSide, b: ComparedSide) -> Iterator[str]:
    if a.status != b.status:
        yield f"status {b.status} instead of {a.status}"
    yield from _replaced("release", a.releases, b.releases)
    yield from _replaced("model", a.models, b.models)


def _facts(a: ComparedSide, b: ComparedSide, tools: Sequence[ToolCount]) -> Iterator[str]:
    yield from _more(b.totals.model_calls - a.totals.model_calls, "model call")
    calls = b.totals.tool_calls - a.totals.tool_calls
    yield from _more(calls, "tool call")
    if not calls and any(tool.a != tool.b for tool in tools):
        yield "other tools"
    yield from _more(b.totals.failed - a.totals.failed, "failed call")
    longer = b.duration_us - a.duration_us
    if duration(a.duration_us) != duration(b.duration_us):
        yield _signed(longer, duration(abs(longer)))
    used_a, used_b = _tokens(a.totals.tokens), _tokens(b.totals.tokens)
    if used_a is not None and used_b is not None and used_a != used_b:
        yield f"{_signed(used_b - used_a, f'{abs(used_b - used_a):,}')} tokens"
    if a.totals.cost is not None and b.totals.cost is not None and a.totals.cost != b.totals.cost:
        more = b.totals.cost - a.totals.cost
        yield _signed(more, cost(abs(more)))


def _replaced(noun: str, a: Sequence[str], b: Sequence[str]) -> Iterator[str]:
    removed = ", ".join(name for name in a if name not in b)
    added = ", ".join(name for name in b if name not in a)
    if added and removed:
        yield f"{noun} {added} instead of {removed}"
    elif added:
        yield f"also {noun} {added}"
    elif removed:
        yield f"without {noun} {removed}"


def _more(number: int, noun: str) -> Iterator[str]:
    if number:
        more = "more" if number > 0 else "fewer"
        yield f"{abs(number):,} {more} {noun}{'' if abs(number) == 1 else 's'}"


def _signed(value: float, amount: str) -> str:
    return f"{'+' if value > 0 else '−'}{amount}"  # noqa: RUF001


def _tokens(usage: Usage) -> int | None:
    known = [each for each in (usage.input, usage.output) if each is not None]
    return sum(known) if known else None
