"""The answers of each method to a task, as the ranks of the right files and functions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from bench.retrieval.packages import UnreachableError
from bench.retrieval.peers import semble
from bench.tasks.task_set import GoldItem, Task
from bench.tasks.trees import FunctionKey, Texts
from treadle.code import CodeIndex, View, most_items
from treadle.code.context.budget import ContextBudget
from treadle.code.model import FUNCTION_KINDS
from treadle.tokens import estimate

Key = TypeVar("Key", str, FunctionKey)

BUDGETS = (2_000, 6_000, 16_000)
_FILES = 50
_FUNCTIONS = 50
_ITEMS = 200
_SHORT = 20
"""Longer functions than this count even if a context has only a part of them."""
_WHOLE, _SHOWN = 0.95, 0.5
"""The shares of a short and of a longer function's bytes from which on a context has it."""
_BEGUN = 4
"""Lines from which on a context has started to show a function."""


class Wording(StrEnum):
    """The form of a task's query."""

    PLAIN = "plain"
    NAMED = "named"


class Method(StrEnum):
    TREADLE = "Treadle"
    LEXICAL = "Treadle, lexical + graph"
    BM25 = "BM25 over files / functions"
    GREP = "rarest words, as with ripgrep"
    SEMBLE = "semble, without its model"


@dataclass(frozen=True, slots=True)
class Ranked:
    """The answer of a method, best first."""

    files: Sequence[str]
    functions: Sequence[FunctionKey] | None = None
    """None for a method that only finds files."""


class Held(BaseModel):
    """How much of the changed functions a context of that many tokens has."""

    model_config = ConfigDict(frozen=True)

    budget: int
    tokens: int
    gold_tokens: int
    shares: tuple[float, ...]
    """The share of each function's bytes that is shown."""
    lines: tuple[int, ...]
    """The lines of each function."""

    @property
    def functions(self) -> float:
        """The share of the functions that the context shows whole, of longer ones at least half."""
        held = (
            share >= (_WHOLE if lines <= _SHORT else _SHOWN)
            for share, lines in zip(self.shares, self.lines, strict=True)
        )
        return sum(held) / max(1, len(self.shares))

    @property
    def begun(self) -> float:
        """The share of the functions of which the context shows a few lines."""
        shown = (
            share * lines >= min(lines * _WHOLE, _BEGUN)
            for share, lines in zip(self.shares, self.lines, strict=True)
        )
        return sum(shown) / max(1, len(self.shares))

    @property
    def precision(self) -> float:
        """The share of the tokens that are in changed functions."""
        return self.gold_tokens / self.tokens if self.tokens else 0.0


class Answer(BaseModel):
    """A method's answer to one task. Ranks count from 1; None is beyond the evaluated results."""

    model_config = ConfigDict(frozen=True)

    task: str
    repository: str
    language: str
    is_long: bool
    wording: Wording
    method: Method
    file_ranks: tuple[int | None, ...]
    function_ranks: tuple[int | None, ...]
    held: tuple[Held, ...] = ()


def treadle(index: CodeIndex, query: str) -> Ranked:
    """What the product finds."""
    files = index.search(query, top_k=_FILES, view=View.FILES).results
    items = index.search(query, top_k=_ITEMS).results
    functions = ((hit.file, hit.start_byte) for hit in items if hit.kind in FUNCTION_KINDS)
    return Ranked([hit.file for hit in files], list(islice(functions, _FUNCTIONS)))


def bm25(texts: Texts, query: str) -> Ranked:
    return Ranked(
        _best(texts.file_scores(query), _FILES), _best(texts.function_scores(query), _FUNCTIONS)
    )


def grep(texts: Texts, query: str) -> Ranked:
    return Ranked(_best(texts.rarest_words(query), _FILES))


def _best(scores: Mapping[Key, float], limit: int) -> list[Key]:
    """Best first, ties by path."""
    return sorted(scores, key=lambda key: (-scores[key], key))[:limit]


def semble_answers(root: Path, queries: Sequence[str]) -> Callable[[str], Ranked] | None:
    """The peer's answers to all queries about a tree; None if it cannot run."""
    try:
        method = semble(root, list(dict.fromkeys(queries)))
    except (UnreachableError, OSError, IndexError):
        return None
    return lambda query: Ranked(list(dict.fromkeys(place.file for place in method(query))))


def answer_of(
    task: Task, wording: Wording, method: Method, ranked: Ranked, held: Iterable[Held] = ()
) -> Answer:
    """The ranks of what the task changed."""
    return Answer(
        task=task.identifier, repository=task.repository, language=task.language,
        is_long=task.is_long, wording=wording, method=method,
        file_ranks=_ranks(task.files, ranked.files),
        function_ranks=()
        if ranked.functions is None
        else _ranks([(item.file, item.start_byte) for item in task.functions], ranked.functions),
        held=tuple(held),
    )  # fmt: skip


def _ranks(wanted: Sequence[Key], found: Sequence[Key]) -> tuple[int | None, ...]:
    places = {key: rank for rank, key in reversed(list(enumerate(found, start=1)))}
    return tuple(places.get(key) for key in wanted)


def held_by_contexts(index: CodeIndex, query: str, functions: Sequence[GoldItem]) -> list[Held]:
    """The parts that contexts of the budgets have."""
    return [_held(index, query, functions, budget) for budget in BUDGETS]


def _held(index: CodeIndex, query: str, functions: Sequence[GoldItem], budget: int) -> Held:
    room = ContextBudget(budget, lambda entry: entry.snippet)
    found = index.context(
        query, top_k=most_items(budget), fits=lambda entries, _omitted: room.holds(entries)
    )
    inside = 0.0
    shares = dict.fromkeys(functions, 0.0)
    for entry in found.entries:
        size = entry.end_byte - entry.start_byte
        most = 0
        for item in functions:
            shared = min(entry.end_byte, item.end_byte) - max(entry.start_byte, item.start_byte)
            if entry.file == item.file and shared > 0:
                shares[item] += shared / (item.end_byte - item.start_byte)
                most = max(most, shared)
        inside += estimate(entry.snippet) * most / max(1, size)
    total = sum(estimate(entry.snippet) for entry in found.entries)
    return Held(
        budget=budget, tokens=total, gold_tokens=round(inside),
        shares=tuple(round(min(1.0, share), 4) for share in shares.values()),
        lines=tuple(_lines(index.root, item) for item in shares),
    )  # fmt: skip


def _lines(root: Path, item: GoldItem) -> int:
    data = (root / item.file).read_bytes()
    return data.count(b"\n", item.start_byte, item.end_byte - 1) + 1
