"""Scores of answers, with intervals that respect the similarity of tasks of a repository."""

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from math import log2
from statistics import fmean

from bench.retrieval.scores import Measured
from bench.tasks.answers import BUDGETS, Answer

_RESAMPLES = 1_000
_SEED = 7
_DEPTH = 10

Measure = Callable[[Answer], float | None]
"""None if an answer has no such value."""


def _within(ranks: Iterable[int | None], depth: int) -> int:
    return sum(rank is not None and rank <= depth for rank in ranks)


def hit_at(depth: int) -> Measure:
    return lambda answer: float(_within(answer.file_ranks, depth) > 0)


def all_files_at(depth: int) -> Measure:
    """Whether all right files are among the first."""
    return lambda answer: float(_within(answer.file_ranks, depth) == len(answer.file_ranks))


def all_functions(answer: Answer) -> float | None:
    ranks = answer.function_ranks
    return float(_within(ranks, _DEPTH) == len(ranks)) if ranks else None


def file_recall(answer: Answer) -> float:
    return _within(answer.file_ranks, 5) / len(answer.file_ranks)


def function_recall(answer: Answer) -> float | None:
    ranks = answer.function_ranks
    return _within(ranks, _DEPTH) / len(ranks) if ranks else None


def reciprocal(answer: Answer) -> float:
    best = min((rank for rank in answer.file_ranks if rank is not None), default=0)
    return 1 / best if best else 0.0


def ndcg(answer: Answer) -> float:
    gain = sum(1 / log2(rank + 1) for rank in answer.file_ranks if rank and rank <= _DEPTH)
    ideal = sum(1 / log2(at + 2) for at in range(min(_DEPTH, len(answer.file_ranks))))
    return gain / ideal


def held_functions(budget: int) -> Measure:
    return lambda answer: next((h.functions for h in answer.held if h.budget == budget), None)


def begun_functions(budget: int) -> Measure:
    return lambda answer: next((h.begun for h in answer.held if h.budget == budget), None)


def held_precision(budget: int) -> Measure:
    return lambda answer: next((h.precision for h in answer.held if h.budget == budget), None)


RANKING: dict[str, Measure] = {
    "file hit@1": hit_at(1), "hit@3": hit_at(3), "hit@5": hit_at(5), "recall@5": file_recall,
    "MRR": reciprocal, "NDCG@10": ndcg, "function recall@10": function_recall,
}  # fmt: skip
ISSUES: dict[str, Measure] = {
    "all files in 1": all_files_at(1), "in 3": all_files_at(3), "in 5": all_files_at(5),
    "in 10": all_files_at(10), "file hit@1": hit_at(1), "MRR": reciprocal,
    "all functions in 10": all_functions,
}  # fmt: skip
CONTEXT_COLUMNS: tuple[tuple[str, Measure], ...] = tuple(
    column
    for budget in BUDGETS
    for column in (
        (f"functions held by {budget:,}", held_functions(budget)),
        (f"begun by {budget:,}", begun_functions(budget)),
        (f"tokens in them of {budget:,}", held_precision(budget)),
    )
)


def clustered(answers: Sequence[Answer], measure: Measure) -> Measured | None:
    """The mean over tasks, and the middle 95 % of the means over resampled repositories."""
    values: dict[str, list[float]] = defaultdict(list)
    for answer in answers:
        if (value := measure(answer)) is not None:
            values[answer.repository].append(value)
    if not values:
        return None
    groups = [(sum(group), len(group)) for _, group in sorted(values.items())]
    draw = random.Random(_SEED)
    means = sorted(_pooled(draw.choices(groups, k=len(groups))) for _ in range(_RESAMPLES))
    return Measured(_pooled(groups), means[_RESAMPLES // 40], means[-_RESAMPLES // 40])


def _pooled(groups: Iterable[tuple[float, int]]) -> float:
    chosen = list(groups)
    return sum(total for total, _ in chosen) / sum(count for _, count in chosen)


def table(
    rows: Iterable[tuple[str, Sequence[Answer]]], columns: Iterable[tuple[str, Measure]]
) -> str:
    """A Markdown table; the first column of figures has its interval, and so has the last."""
    named = list(columns)
    lines = [
        f"| | tasks | {' | '.join(name for name, _ in named)} |",
        f"|---|---|{'---|' * len(named)}",
    ]
    for label, answers in rows:
        cells: list[str] = []
        for place, (_, measure) in enumerate(named):
            if place in (0, len(named) - 1):
                cells.append(str(clustered(answers, measure) or "–"))  # noqa: RUF001  (a dash)
            else:
                values = [value for a in answers if (value := measure(a)) is not None]
                cells.append(f"{fmean(values):.3f}" if values else "–")  # noqa: RUF001  (a dash)
        lines.append(f"| {label} | {len(answers)} | {' | '.join(cells)} |")
    return "\n".join(lines)
