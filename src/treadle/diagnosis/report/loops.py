"""The same call again and again: loops, retries of what failed, and waiting for a change."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic

from treadle.diagnosis.span_times import T

LEAST = 3
"""Calls from which on the same is called again and again: twice happens to everybody."""


class Manner(StrEnum):
    """Why the same call was made again."""

    LOOP = "loop"
    """It had answered, and answered the same every time."""
    RETRIES = "retries"
    """It had failed."""
    POLLING = "polling"
    """Its answers differ, so somebody waited for a change."""


@dataclass(frozen=True, slots=True)
class Call:
    """What a repeated call is known by. `asked` is a digest of the tool and its arguments."""

    asked: Hashable
    answered: Hashable
    """A digest of the answer; None where there is none."""
    failed: bool


@dataclass(frozen=True, slots=True)
class Loop(Generic[T]):
    """Calls of the same tool with the same arguments within a trace, in order of time."""

    manner: Manner
    calls: tuple[T, ...]

    @property
    def count(self) -> int:
        """How many calls."""
        return len(self.calls)

    @property
    def needless_us(self) -> int:
        """How long all but the first took, in microseconds."""
        return sum(max(0, (each.end_us or 0) - each.start_us) for each in self.calls[1:])


def repeated_calls(
    spans: Iterable[T], call_of: Callable[[T], Call | None], *, least: int = LEAST
) -> tuple[Loop[T], ...]:
    """The calls that a trace makes `least` times or more, those with the most first.

    `call_of` tells what a span calls; None for one that is no call.
    """
    groups: dict[tuple[str, Hashable], list[tuple[T, Call]]] = defaultdict(list)
    for span in sorted(spans, key=lambda span: (span.start_us, span.trace_id, span.span_id)):
        call = call_of(span)
        if call is not None:
            groups[span.trace_id, call.asked].append((span, call))
    found = [
        Loop(_manner([call for _, call in group]), tuple(span for span, _ in group))
        for group in groups.values()
        if len(group) >= least
    ]
    return tuple(sorted(found, key=lambda loop: -loop.count))


def _manner(calls: list[Call]) -> Manner:
    before_the_last = calls[:-1]
    if sum(call.failed for call in before_the_last) * 2 > len(before_the_last):
        return Manner.RETRIES
    answers = {call.answered for call in calls}
    return Manner.POLLING if len(answers) > max(1, len(calls) // 3) else Manner.LOOP
