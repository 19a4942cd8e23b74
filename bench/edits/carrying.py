"""Changes that are relocated to, and undone in, a file that a person changed elsewhere."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.edits.blocks import Block, pick
from bench.edits.scoring import Outcome
from bench.edits.tasks import LANGUAGES, sources
from bench.retrieval.packages import CORPORA, UnreachableError
from treadle.edits.model import EditError, splice
from treadle.edits.relocation import rehunk, relocate, reverse


@dataclass(frozen=True, slots=True)
class Carried:
    """A change from `base` to `result`, and the person's file before and after it."""

    base: bytes
    result: bytes
    present: bytes
    expected: bytes


def carried(per_language: int, seed: int = 6) -> Iterator[Carried]:
    """About that many of each language whose packages are available."""
    for corpus in CORPORA:
        if corpus.name not in LANGUAGES:
            continue
        try:
            paths = sources(corpus)
        except UnreachableError:
            continue
        chance = random.Random(f"{seed} {corpus.name}")
        for path in chance.choices(paths, k=per_language):
            case = carried_of(path, chance)
            if case is not None:
                yield case


def carried_of(path: Path, chance: random.Random) -> Carried | None:
    """One change of a file; None if it is not UTF-8 or no draw succeeds."""
    try:
        lines = path.read_text("utf-8").split("\n")
    except UnicodeDecodeError:
        return None
    block = pick(lines, chance)
    return None if block is None else _with_edits(block, chance)


def _with_edits(block: Block, chance: random.Random) -> Carried:
    """The person deletes, copies and writes lines on both sides, at least one line away."""
    head = _edited(block.lines[: block.first - 1], chance)
    tail = _edited(block.lines[block.last + 1 :], chance)
    near = block.lines[block.first - 1], block.lines[block.last]
    new = tuple(line for line, _ in block.new)
    whole = "\n".join
    return Carried(
        whole(block.lines).encode(),
        whole((*block.lines[: block.first], *new, *block.lines[block.last :])).encode(),
        whole((*head, near[0], *block.old, near[1], *tail)).encode(),
        whole((*head, near[0], *new, near[1], *tail)).encode(),
    )


def _edited(lines: Sequence[str], chance: random.Random) -> list[str]:
    changed = list(lines)
    for _ in range(chance.randint(0, 4)):
        if not changed:
            break
        place = chance.choice((chance.randrange(len(changed)), len(changed) - 1, 0))
        kind = chance.choice(("delete", "copy", "write", "change"))
        if kind == "delete":
            del changed[place : place + chance.randint(1, 5)]
        elif kind == "copy":
            at = chance.randrange(len(changed))
            changed[place:place] = changed[at : at + chance.randint(1, 8)]
        elif kind == "write":
            changed.insert(place, f"mine_{chance.randrange(999)}")
        else:
            changed[place] += " mine"
    return changed


def outcomes(cases: Sequence[Carried], *, undo: bool) -> Counter[Outcome]:
    """How often the change, or its undo, reached its right location in the person's file."""
    counts: Counter[Outcome] = Counter()
    for case in cases:
        change = rehunk("file", case.base, case.result)
        present, expected = case.present, case.expected
        if undo:
            change = reverse(change)
            present, expected = expected, present
        try:
            moved = relocate(change, present)
        except EditError:
            counts[Outcome.REFUSED] += 1
            continue
        right = splice(present, moved.hunks) == expected
        counts[Outcome.RIGHT if right else Outcome.WRONG] += 1
    return counts
