"""The data that the ranking is fitted to: the signals of all candidates of each task.

One `.npz` for each repository, below `examples/tuning` or `examples/test`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from bench.tasks.answers import Wording
from bench.tasks.queries import query_of
from bench.tasks.repositories import Repository
from bench.tasks.task_set import Task
from bench.tasks.trees import by_anchor, opened
from treadle.code.model import FUNCTION_KINDS
from treadle.code.retrieval.task_ranking import Columns, file_columns, item_columns

Figures = NDArray[numpy.float32]
Flags = NDArray[numpy.bool_]


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates of one query: a column of figures for each signal, in the same order."""

    columns: Mapping[str, Figures]
    right: Flags
    gold: int
    """The number of right ones, including those that are not candidates."""

    @property
    def count(self) -> int:
        return len(self.right)


@dataclass(frozen=True, slots=True)
class Example:
    """One query. `file_places` maps each item to its file among the candidates."""

    repository: str
    wording: Wording
    files: Candidates
    items: Candidates
    functions: Flags
    file_places: NDArray[numpy.int32]


def export(repository: Repository, tasks: Sequence[Task], work: Path) -> None:
    """Write the examples of all tasks of a repository in both wordings."""
    arrays: dict[str, NDArray[Any]] = {}
    queries: list[dict[str, str | int]] = []
    for anchor, group in by_anchor(tasks).items():
        with opened(work, repository, anchor) as index:
            for task in group:
                for wording in Wording:
                    found, vector_scores, _ = index.found(query_of(task, wording))
                    if not found.hits or not found.question.is_task:
                        continue
                    number = len(queries)
                    _put(arrays, f"{number}.files", file_columns(found, vector_scores))
                    _put(
                        arrays,
                        f"{number}.items",
                        item_columns(found, vector_scores, [0.0] * len(found.files)),
                    )
                    changed = {(one.file, one.start_byte) for one in task.items if not one.is_test}
                    arrays[f"{number}.right_files"] = numpy.array(
                        [file.path in task.files for file in found.files], bool
                    )
                    arrays[f"{number}.right_items"] = numpy.array(
                        [(hit.file, hit.start_byte) in changed for hit in found.hits], bool
                    )
                    arrays[f"{number}.functions"] = numpy.array(
                        [hit.kind in FUNCTION_KINDS for hit in found.hits], bool
                    )
                    places = {file.id: place for place, file in enumerate(found.files)}
                    arrays[f"{number}.file_places"] = numpy.array(
                        [places[hit.file_id] for hit in found.hits], numpy.int32
                    )
                    queries.append(
                        {
                            "wording": wording.value,
                            "gold_files": len(task.files),
                            "gold_functions": len(task.functions),
                        }
                    )
        print(f"{repository.name} {anchor[:12]}", flush=True)
    target = examples_path(work, repository)
    target.parent.mkdir(parents=True, exist_ok=True)
    arrays["queries"] = numpy.array(json.dumps(queries))
    numpy.savez_compressed(target, allow_pickle=False, **arrays)


def _put(arrays: dict[str, NDArray[Any]], prefix: str, columns: Columns) -> None:
    for name, figures in columns.items():
        arrays[f"{prefix}.{name}"] = numpy.array(figures, numpy.float32)


def examples_path(work: Path, repository: Repository) -> Path:
    return work / "examples" / repository.part / f"{repository.folder}.npz"


def read(path: Path) -> Iterator[Example]:
    """The examples of a repository."""
    with numpy.load(path) as archive:
        arrays = dict(archive.items())
    for number, query in enumerate(json.loads(str(arrays.pop("queries")))):
        files, items = (
            Candidates(
                {
                    name.removeprefix(f"{number}.{kind}."): array
                    for name, array in arrays.items()
                    if name.startswith(f"{number}.{kind}.")
                },
                arrays[f"{number}.right_{kind}"],
                query[gold],
            )
            for kind, gold in (("files", "gold_files"), ("items", "gold_functions"))
        )
        yield Example(
            path.stem.replace("+", "/", 1), Wording(query["wording"]), files, items,
            arrays[f"{number}.functions"], arrays[f"{number}.file_places"],
        )  # fmt: skip
