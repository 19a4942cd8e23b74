"""Tables with a row for each figure and a column for each subject; the first is compared."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

NOT = "-"
"""Shown if a figure is missing."""


@dataclass(slots=True)
class Figures:
    """Figures of several subjects. Those of others show the ratio to Treadle's.

    A ratio of 5 means that Treadle is five times better: faster, smaller, sooner.
    """

    subjects: Sequence[str]
    ours: int = 1
    """How many of them, from the first on, are not compared."""
    _rows: dict[str, dict[str, str]] = field(default_factory=dict)
    _first: dict[str, float] = field(default_factory=dict)

    def add(self, label: str, subject: str, value: float, *, more_is_better: bool = False) -> None:
        """Note a figure."""
        cells = self._rows.setdefault(label, {})
        cells[subject] = written(value)
        if subject == self.subjects[0]:
            self._first[label] = value
        first = self._first.get(label, 0.0)
        if subject in self.subjects[: self.ours] or first <= 0 or value <= 0:
            return
        ratio = first / value if more_is_better else value / first
        cells[subject] += f" ({ratio:.2g} times)" if ratio < 10 else f" ({ratio:,.0f} times)"

    def say(self, label: str, subject: str, text: str) -> None:
        """Note a word instead of a figure."""
        self._rows.setdefault(label, {})[subject] = text

    def markdown(self, head: str) -> str:
        lines = [
            f"| {head} | {' | '.join(self.subjects)} |",
            "|" + "---|" * (len(self.subjects) + 1),
        ]
        for label, cells in self._rows.items():
            values = (cells.get(subject, NOT) for subject in self.subjects)
            lines.append(f"| {label} | {' | '.join(values)} |")
        return "\n".join(lines)


def written(value: float) -> str:
    """Three digits, or all before the point."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def say(text: str) -> None:
    """Report the progress."""
    print(text, file=sys.stderr, flush=True)
