"""Context within a budget: which of the retrieved items are shown, and how much of each."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from treadle.code.copies import without_copies
from treadle.code.extract import Lines
from treadle.code.files import content_hash, read_file
from treadle.code.forms import Candidate
from treadle.code.model import ContextEntry, ContextResult, Kind
from treadle.code.questions import Question
from treadle.code.ranking import Hit

Fits = Callable[[Sequence[ContextEntry], int], bool]
Owners = Callable[[Sequence[int]], Mapping[int, Hit]]

_SPARE = 3
"""Retrieved per wanted item, so that duplicates and unreadable ones can be replaced."""


@dataclass(slots=True)
class Retrieved:
    """Candidates, best first; `lost` counts those whose file is gone or cannot be shown."""

    candidates: list[Candidate] = field(default_factory=list)
    owners: dict[int, Candidate] = field(default_factory=dict)
    """What holds a candidate, by its place: the type that a method belongs to."""
    lost: int = 0
    stale: bool = False


def retrieve(
    root: Path, query: str, ranked: tuple[list[Hit], int], top_k: int, owners: Owners
) -> Retrieved:
    """Order, read and verify. A file that is not the one indexed makes the result stale.

    `ranked` are the hits, best first, and how many of the first of them the query names;
    `owners` gives the types that hold items, by the ids of the items.
    """
    hits, exact = ranked
    named = {(hit.file, hit.start_byte) for hit in hits[:exact]}
    question = Question.of(query)
    files = _Files(root)
    found = Retrieved()
    texts: set[bytes] = set()
    distinct = without_copies(hits, files.text)[: _SPARE * top_k]
    for hit in _not_nested(_ordered(distinct, question, top_k)):
        if len(found.candidates) == top_k:
            break
        data = files.data(hit)
        if data is None:
            found.stale = True
            found.lost += 1
            continue
        candidate = Candidate(
            root, hit, data, files.lines(hit.file, data), question.terms,
            exact=(hit.file, hit.start_byte) in named,
        )  # fmt: skip
        text = data[hit.start_byte : hit.end_byte]
        if not candidate.showable:
            found.lost += 1
        elif text not in texts:  # the same bytes under another name say nothing new
            texts.add(text)
            found.candidates.append(candidate)
    held_by = owners([candidate.hit.item_id for candidate in found.candidates])
    for place, candidate in enumerate(found.candidates):
        if (owner := held_by.get(candidate.hit.item_id)) is not None:
            found.owners[place] = replace(candidate, hit=owner, exact=False)
    return found


class _Files:
    """The files of an answer, each read once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._data: dict[str, bytes | None] = {}
        self._lines: dict[str, Lines] = {}

    def data(self, hit: Hit) -> bytes | None:
        """The bytes of the file if they are those that were indexed."""
        if hit.file not in self._data:
            try:
                data, _ = read_file(self._root, hit.file)
            except OSError:
                data = None
            same = data is not None and content_hash(data) == hit.file_hash
            self._data[hit.file] = data if same else None
        return self._data[hit.file]

    def text(self, hit: Hit) -> bytes | None:
        """The bytes of an item."""
        data = self.data(hit)
        return None if data is None else data[hit.start_byte : hit.end_byte]

    def lines(self, file: str, data: bytes) -> Lines:
        if file not in self._lines:
            self._lines[file] = Lines(data)
        return self._lines[file]


def _ordered(hits: list[Hit], question: Question, top_k: int) -> list[Hit]:
    """Best first; what exceeds a file's share comes later.

    Tests are last unless they are asked for, and vendored and generated code is.
    """
    share = max(2, top_k // 2)
    seen: Counter[str] = Counter()
    keyed: list[tuple[bool, bool, int, Hit]] = []
    tests_last = not question.wants_tests
    for place, hit in enumerate(hits):
        seen[hit.file] += 1
        last = (tests_last and hit.is_test) or hit.is_aside
        keyed.append((last, seen[hit.file] > share, place, hit))
    return [hit for _, _, _, hit in sorted(keyed, key=lambda entry: entry[:3])]


def _not_nested(hits: list[Hit]) -> list[Hit]:
    """Without items inside another one that is better placed; neighbouring chunks become one."""
    kept: list[Hit] = []
    for hit in hits:
        inside = any(
            other.file == hit.file
            and other.start_byte <= hit.start_byte
            and hit.end_byte <= other.end_byte
            for other in kept
        )
        if inside:
            continue
        place = next((at for at, other in enumerate(kept) if _adjacent(other, hit)), None)
        if place is None:
            kept.append(hit)
        else:
            kept[place] = _stitched(kept[place], hit)
    return kept


def _adjacent(left: Hit, right: Hit) -> bool:
    if left.file != right.file or {left.kind, right.kind} != {Kind.CHUNK.value}:
        return False
    return left.end_line + 1 == right.start_line or right.end_line + 1 == left.start_line


def _stitched(kept: Hit, other: Hit) -> Hit:
    first, last = sorted((kept, other), key=lambda hit: hit.start_byte)
    span = f":{first.start_line}-{last.end_line}"
    return kept._replace(
        name=first.name.rpartition(":")[0] + span,
        canonical_path=first.canonical_path.rpartition(":")[0] + span,
        start_byte=first.start_byte,
        end_byte=last.end_byte,
        start_line=first.start_line,
        end_line=last.end_line,
        signature_start=first.start_byte,
        signature_end=first.start_byte,
    )


@dataclass(slots=True)
class _Answer:
    """The entries so far by the place of their candidate. None overlaps another.

    The first line of what holds a candidate stands half a place before it.
    """

    fits: Fits
    total: int
    chosen: dict[float, ContextEntry] = field(default_factory=dict)

    def place(self, place: float, entry: ContextEntry | None, *, share: int = 1) -> bool:
        """Show `entry` if it overlaps no other and `share` times its size fits."""
        if entry is None or any(
            _overlap(entry, other) for key, other in self.chosen.items() if key != place
        ):
            return False
        proposed = {**self.chosen, place: entry}
        entries = [proposed[key] for key in sorted(proposed)]
        if not self.fits([*entries, *[entry] * (share - 1)], self.total):
            return False
        self.chosen = proposed
        return True

    def widen(self, place: int, candidate: Candidate, *, share: int = 1) -> None:
        """Show as many lines of a candidate as fit, and no fewer than now."""
        if self.place(place, candidate.whole, share=share):
            return
        present = self.chosen.get(place)
        shown = present.end_line - present.start_line + 1 if present else 0
        low, high = max(shown, candidate.fewest - 1), candidate.length
        while high - low > 1:
            middle = (low + high) // 2
            if self.place(place, candidate.excerpt(middle), share=share):
                low = middle
            else:
                high = middle


def assemble(query: str, top_k: int, found: Retrieved, fits: Fits) -> ContextResult:
    """Fill the budget: what the query names, then everything else as far as it fits, then more.

    An item has at most half of what is left while others wait, so that a large one leaves room;
    only what the query names alone has all of it. A method comes with the first line of its type.
    What is left then widens what was cut, best
    first; signatures are for what there is no other room for.
    """
    answer = _Answer(fits, len(found.candidates) + found.lost)
    candidates = list(enumerate(found.candidates))
    exact = [place for place, candidate in candidates if candidate.exact]
    for place, candidate in candidates:
        share = 1 if [place] == exact[-1:] else 2
        if candidate.exact:
            answer.widen(place, candidate, share=share)
        elif not answer.place(place, candidate.whole, share=share):
            answer.place(place, candidate.excerpt(candidate.usual), share=share)
    for place, owner in found.owners.items():
        if place in answer.chosen and len(answer.chosen) < top_k:
            answer.place(place - 0.5, owner.opening)
    for place, candidate in candidates:
        if place in answer.chosen and not answer.chosen[place].whole:
            answer.widen(place, candidate)
    for place, candidate in candidates:
        room = place not in answer.chosen and len(answer.chosen) < top_k
        if room and answer.place(place, candidate.smallest):
            answer.widen(place, candidate)
    places = sorted(answer.chosen)
    shown = [answer.chosen[place] for place in places]
    return _within(query, top_k, shown, [place % 1 == 0 for place in places], answer)


def _overlap(one: ContextEntry, other: ContextEntry) -> bool:
    return (
        one.file == other.file
        and one.start_byte < other.end_byte
        and other.start_byte < one.end_byte
    )


def _within(
    query: str, top_k: int, entries: list[ContextEntry], counted: list[bool], answer: _Answer
) -> ContextResult:
    """The result, shortened from its end until it fits with the true count of what is left out."""
    while entries and not answer.fits(entries, answer.total - sum(counted)):
        entries, counted = entries[:-1], counted[:-1]
    return ContextResult(query, top_k, tuple(entries), answer.total - sum(counted))
