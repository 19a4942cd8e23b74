"""What a judge said: which of two outputs it prefers, once in each order."""

from dataclasses import dataclass
from enum import StrEnum

from treadle.experiments.model import Cell


class Winner(StrEnum):
    """Which output is better."""

    BASE = "base"
    NEW = "new"
    TIE = "tie"
    UNREADABLE = "unreadable"
    """The judge did not answer, or said neither."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """One answer of a judge. With `swapped` it read the new output first.

    `cell` is the run whose output is new; the other one is of the variant `base`, of the same item
    and repeat.
    """

    cell: Cell
    base: int
    model: str
    criteria: str
    swapped: bool
    winner: Winner
    reason: str
    trace_id: str
    span_id: str


def agreed(one: Winner, other: Winner) -> Winner:
    """What two answers about the same pair say together.

    A judge that changes its mind with the order prefers a place, not an output: that is a tie.
    """
    if Winner.UNREADABLE in {one, other}:
        return Winner.UNREADABLE
    return one if one is other else Winner.TIE
