"""The training: sentences and their functions, compared within a batch.

A function and a sentence are each the sum of the vectors of their terms, with a weight for each
term in functions and another in sentences. The training learns the vectors and both weights, so
that within a batch the function of a sentence is nearest to it, and the sentence of a function to
that (InfoNCE in both directions). A batch contains several neighbouring functions of a file, since
a repository has such neighbours too.
"""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from tools.train_embedding.bags import Bags, Floats, Ints, Pairs


@dataclass(frozen=True, slots=True)
class Recipe:
    """Chosen by tries on the tuning queries (docs/decisions/0057)."""

    dimension: int = 384
    epochs: int = 3
    batch: int = 2_048
    neighbours: int = 16
    """Consecutive functions that are in a batch together."""
    temperature: float = 0.05
    rate: float = 0.03
    """For vectors, at its highest."""
    weight_rate: float = 0.05
    dropped: float = 0.2
    """The share of a function's terms that is dropped each time."""
    warm_up: int = 50
    seed: int = 20_261_128


@dataclass(slots=True)
class Parameters:
    """The learnt values: a vector for each term, and its weights in sentences and in functions."""

    vectors: Floats
    in_query: Floats
    in_item: Floats
    _seen: tuple[Floats, Floats, Floats] = field(init=False)

    def __post_init__(self) -> None:
        count = len(self.vectors)
        self._seen = tuple(np.zeros(count, np.float32) for _ in range(3))  # type: ignore[assignment]

    @classmethod
    def first(cls, pairs: Pairs, dimension: int, draw: np.random.Generator) -> "Parameters":
        """Random directions, which distinguish terms, and their rarity as weights."""
        shape = (len(pairs.vocabulary), dimension)
        vectors = draw.standard_normal(shape, np.float32) / np.float32(math.sqrt(dimension))
        return cls(vectors, pairs.rarity.copy(), pairs.rarity.copy())

    def learn(
        self, rows: Ints, gradients: tuple[Floats, Floats, Floats], rate: float, weight_rate: float
    ) -> None:
        """A step of Adagrad with one rate for each row, so that rare terms move little."""
        for known, name, gradient, step in zip(
            self._seen, ("vectors", "in_query", "in_item"), gradients,
            (rate, weight_rate, weight_rate), strict=True,
        ):  # fmt: skip
            wide = gradient.ndim == 2
            known[rows] += np.square(gradient).mean(axis=1) if wide else np.square(gradient)
            scale = step / (np.sqrt(known[rows]) + np.float32(1e-4 if wide else 1e-5))
            values = getattr(self, name)
            moved = values[rows] - gradient * (scale[:, None] if wide else scale)
            values[rows] = moved if wide else np.maximum(moved, 0)


def train(pairs: Pairs, recipe: Recipe, tell: Callable[[str], None]) -> Parameters:
    """Learn from all pairs. The same pairs and recipe give the same values on one machine."""
    draw = np.random.default_rng(recipe.seed)
    learnt = Parameters.first(pairs, recipe.dimension, draw)
    total = recipe.epochs * (len(pairs.documents) // recipe.batch)
    started = time.monotonic()
    losses: list[float] = []
    for number, chosen in enumerate(_batches(len(pairs.documents), recipe, draw), start=1):
        part = min(1.0, number / recipe.warm_up) * max(
            0.02, 0.5 * (1 + math.cos(math.pi * number / total))
        )
        losses.append(_step(pairs, learnt, chosen, recipe, part, draw))
        if number % 50 == 0 or number == total:
            tell(
                f"step {number} of {total}, loss {np.mean(losses[-50:]):.3f},"
                f" {time.monotonic() - started:.0f} s"
            )
    return learnt


def _batches(count: int, recipe: Recipe, draw: np.random.Generator) -> Iterator[Ints]:
    """Batches of neighbours; their combination and the starts of their runs vary."""
    for _ in range(recipe.epochs):
        begin = int(draw.integers(recipe.neighbours))
        runs = np.array_split(np.arange(begin, count), max(1, (count - begin) // recipe.neighbours))
        order = np.concatenate([runs[place] for place in draw.permutation(len(runs))])
        for start in range(0, count - recipe.batch + 1, recipe.batch):
            chosen = order[start : start + recipe.batch]
            if len(chosen) == recipe.batch:
                yield chosen


def _step(
    pairs: Pairs, learnt: Parameters, chosen: Ints, recipe: Recipe, part: float,
    draw: np.random.Generator,
) -> float:  # fmt: skip
    """Learn from one batch at `part` of the rate; returns the loss."""
    items = pairs.documents.taken(chosen)
    kept = draw.random(len(items.values), np.float32) >= recipe.dropped
    items = Bags(items.starts, items.terms, items.values * kept)
    rows, queries, items = _narrowed(pairs.queries.taken(chosen), items)
    vectors = learnt.vectors[rows]
    asked = _Side(queries, vectors, learnt.in_query[rows])
    found = _Side(items, vectors, learnt.in_item[rows])
    loss, error = _contrast(asked.unit @ found.unit.T / np.float32(recipe.temperature))
    error /= np.float32(recipe.temperature)
    of_query = asked.gradient(error @ found.unit)
    of_item = found.gradient(error.T @ asked.unit)
    gradients = (
        of_query * asked.weights[:, None] + of_item * found.weights[:, None],
        (of_query * vectors).sum(axis=1),
        (of_item * vectors).sum(axis=1),
    )
    learnt.learn(rows, gradients, part * recipe.rate, part * recipe.weight_rate)
    return loss


def _narrowed(queries: Bags, items: Bags) -> tuple[Ints, Bags, Bags]:
    """The terms that either has, in ascending order, and both with indexes into those."""
    rows, places = np.unique(np.concatenate([queries.terms, items.terms]), return_inverse=True)
    split = len(queries.terms)
    return (
        rows.astype(np.int64),
        Bags(queries.starts, places[:split].astype(np.int32), queries.values),
        Bags(items.starts, places[split:].astype(np.int32), items.values),
    )


class _Side:
    """The unit vectors of bags, and the gradient of the terms from an error of them."""

    def __init__(self, bags: Bags, vectors: Floats, weights: Floats) -> None:
        self._bags = bags
        self.weights = weights
        sums = bags.weighed(weights).sums(vectors)
        self._lengths = np.sqrt(np.square(sums).sum(axis=1, keepdims=True)) + np.float32(1e-6)
        self.unit: Floats = sums / self._lengths

    def gradient(self, error: Floats) -> Floats:
        """The gradient by what each term adds, before its weight: terms x dimension."""
        along = (error * self.unit).sum(axis=1, keepdims=True) * self.unit
        return self._bags.turned(len(self.weights)).sums((error - along) / self._lengths)


def _contrast(scores: Floats) -> tuple[float, Floats]:
    """The mean loss, with the right answer of each row and column on the diagonal.

    With its gradient by the scores.
    """
    place = np.arange(len(scores))
    right = scores[place, place]
    by_row, row_sums = _softmax(scores, 1)
    by_column, column_sums = _softmax(scores, 0)
    loss = float((row_sums + column_sums).mean() / 2 - right.mean())
    by_row += by_column
    by_row *= np.float32(0.5)
    by_row[place, place] -= 1
    by_row /= np.float32(len(scores))
    return loss, by_row


def _softmax(scores: Floats, axis: int) -> tuple[Floats, Floats]:
    """Shares along an axis, and the logarithms of the sums."""
    most = scores.max(axis=axis, keepdims=True)
    shares = np.exp(scores - most)
    sums = shares.sum(axis=axis, keepdims=True)
    shares /= sums
    return shares, (np.log(sums) + most).ravel()
