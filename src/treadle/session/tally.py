"""Sums of usage and cost over the model requests of a session; unknown stays unknown."""

from dataclasses import dataclass, fields, replace

from treadle.events.types import Usage


@dataclass(slots=True)
class Tally:
    """Adds up replies. A value that one of them does not report makes its sum unknown."""

    usage: Usage | None = None
    cost: float | None = None

    def add(self, usage: Usage, cost: float | None) -> None:
        """Count one model request; `Usage()` and None for one that brought no reply."""
        if self.usage is None:
            self.usage, self.cost = usage, cost
            return
        parts = {
            part.name: _sum(getattr(self.usage, part.name), getattr(usage, part.name))
            for part in fields(Usage)
        }
        self.usage = replace(self.usage, **parts)
        self.cost = None if self.cost is None or cost is None else self.cost + cost


def _sum(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right
