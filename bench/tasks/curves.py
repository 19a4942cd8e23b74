"""Fit the step functions of `retrieval/task_ranking.py` to the tasks of tuning repositories.

Boosting with trees of one split gives a sum of step functions, one for each signal. It runs with
LightGBM and scikit-learn, which only this command needs and which are installed by hand:
`.venv/bin/uv pip install --python .venv/bin/python lightgbm scikit-learn`.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy

from bench.tasks.answers import Answer, Method
from bench.tasks.examples import Candidates, Example, Figures, read
from treadle.code.retrieval.task_ranking import CURVES_FILE, Curve, Curves, distance_behind_best

FOLDS = 5
_ROUNDS = 300
_RATE = 0.1
_FEWEST_IN_STEP = 80
_FILES_THAT_COUNT, _ITEMS_THAT_COUNT = 8, 15
"""Places of an answer that a right candidate is lifted to."""
_FREE = frozenset({"lines", "items", "items_in_file", "kind", "commits", "age"})
"""Signals of which more may be better or worse.

For the others more is always better, or always worse.
"""
_WORSE = frozenset({"test", "text", "place_in_file", "file_rank"})
_FIGURES = 4
"""Decimal places in the file."""


def fitted(examples: Sequence[Example]) -> Mapping[str, Curves]:
    """The curves of files and of items.

    Items are fitted with scores of files from curves that had not seen their repository, since
    the scores of an unseen repository are just as good.
    """
    unseen: list[Figures] = [numpy.zeros(0, numpy.float32)] * len(examples)
    for fold in folds(examples):
        others = [example for at, example in enumerate(examples) if at not in fold]
        curves = _curves([example.files for example in others], _FILES_THAT_COUNT)
        for at in fold:
            unseen[at] = _scores(curves, examples[at].files)
    items = [with_files(one, scores) for one, scores in zip(examples, unseen, strict=True)]
    return {
        "files": _curves([example.files for example in examples], _FILES_THAT_COUNT),
        "items": _curves(items, _ITEMS_THAT_COUNT),
    }


def folds(examples: Sequence[Example]) -> list[set[int]]:
    """The examples by number, those of one repository always together."""
    names = sorted({example.repository for example in examples})
    of_fold = {name: number % FOLDS for number, name in enumerate(names)}
    found: list[set[int]] = [set() for _ in range(FOLDS)]
    for at, example in enumerate(examples):
        found[of_fold[example.repository]].add(at)
    return found


def with_files(example: Example, scores: Figures) -> Candidates:
    """The items of an example, with the scores of their files."""
    columns = dict(example.items.columns)
    figures = distance_behind_best(scores.tolist())
    for name, column in figures.items():
        columns[name] = numpy.array(column, numpy.float32)[example.file_places]
    return Candidates(columns, example.items.right, example.items.gold)


def _curves(candidates: Sequence[Candidates], places: int) -> Curves:
    """Boosted steps; a query without a right candidate teaches nothing."""
    import lightgbm  # not installed with the others

    telling = [one for one in candidates if one.right.any()]
    names = sorted(telling[0].columns)
    ranker = lightgbm.LGBMRanker(
        n_estimators=_ROUNDS, num_leaves=2, learning_rate=_RATE, reg_lambda=5.0,
        min_child_samples=_FEWEST_IN_STEP, subsample=0.7, subsample_freq=1, colsample_bytree=0.6,
        lambdarank_truncation_level=places, random_state=1, n_jobs=1, deterministic=True,
        force_row_wise=True, verbose=-1,
        monotone_constraints=[0 if one in _FREE else -1 if one in _WORSE else 1 for one in names],
    )  # fmt: skip
    ranker.fit(
        numpy.vstack([_matrix(one, names) for one in telling]),
        numpy.concatenate([one.right for one in telling]).astype(int),
        group=[one.count for one in telling],
    )
    return _sum_of_trees(ranker.booster_.dump_model()["tree_info"], names)


def _matrix(candidates: Candidates, names: Iterable[str]) -> Figures:
    return numpy.column_stack([candidates.columns[name] for name in names])


def _sum_of_trees(trees: Iterable[Mapping[str, Any]], names: Sequence[str]) -> Curves:
    """The one-split trees as a curve for each signal, with the step between neighbouring values."""
    rises: dict[str, dict[float, float]] = defaultdict(lambda: defaultdict(float))
    for tree in trees:
        split = tree["tree_structure"]
        if "split_feature" in split:
            rise = split["right_child"]["leaf_value"] - split["left_child"]["leaf_value"]
            rises[names[split["split_feature"]]][round(split["threshold"], _FIGURES)] += rise
    return Curves(
        {
            name: Curve(
                tuple(sorted(steps)),
                tuple(
                    round(value, _FIGURES)
                    for value in accumulate((steps[at] for at in sorted(steps)), initial=0.0)
                ),
            )
            for name, steps in sorted(rises.items())
        }
    )


def _scores(curves: Curves, candidates: Candidates) -> Figures:
    columns = {name: column.tolist() for name, column in candidates.columns.items()}
    return numpy.array(curves.scores(columns, candidates.count), numpy.float32)


def answers(curves: Mapping[str, Curves], examples: Iterable[Example]) -> list[Answer]:
    """The answers of a ranking by `curves`, in the form that `measures` scores."""
    found: list[Answer] = []
    for number, example in enumerate(examples):
        scores = _scores(curves["files"], example.files)
        items = with_files(example, scores)
        by_items = _scores(curves["items"], items)[example.functions]
        found.append(
            Answer(
                task=f"{example.repository} {number}", repository=example.repository, language="",
                is_long=False, wording=example.wording, method=Method.TREADLE,
                file_ranks=_ranks(scores, example.files.right, example.files.gold),
                function_ranks=_ranks(
                    by_items, items.right[example.functions], example.items.gold
                ),
            )
        )  # fmt: skip
    return found


def _ranks(scores: Figures, right: Any, gold: int) -> tuple[int | None, ...]:
    order = numpy.argsort(-scores, kind="stable")
    ranks = [int(at) + 1 for at in numpy.flatnonzero(right[order])]
    return (*ranks, *(None,) * (gold - len(ranks)))


def cross_validated(examples: Sequence[Example]) -> list[Answer]:
    """The answers of curves that had not seen the repository of a query."""
    found: list[Answer] = []
    for fold in folds(examples):
        curves = fitted([example for at, example in enumerate(examples) if at not in fold])
        found += answers(curves, [examples[at] for at in sorted(fold)])
    return found


def load(folder: Path) -> list[Example]:
    """All examples of a part."""
    return [example for path in sorted(folder.glob("*.npz")) for example in read(path)]


def write(curves: Mapping[str, Curves], path: Path = CURVES_FILE) -> None:
    """Write the curves that Treadle ships."""
    path.write_text(
        json.dumps({kind: of_kind.by_signal for kind, of_kind in curves.items()}, indent=None)
        + "\n",
        "utf-8",
    )
