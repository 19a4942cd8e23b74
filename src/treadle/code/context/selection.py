"""Selects the items of a context: orders them by expected gain, reads them, and drops copies."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp
from pathlib import Path

from treadle.code.context.excerpts import ContextItem
from treadle.code.files.walk import content_hash, read_file
from treadle.code.model import Kind
from treadle.code.retrieval.hits import DECLARATIONS, Hit
from treadle.code.retrieval.query import Question
from treadle.code.terms import term_counts
from treadle.code.text import Lines

_PATH_SEPARATORS = re.compile(r"::|[.#/\\]")

_COMPILED = re.compile(r"\.[cm]?jsx?$")

_BUILT = re.compile(r"(?:^|/)(?:dist|build|out|cjs|esm|umd|bundles?)/")

_ALIKE = 0.6
"""The share of terms that two copies must have in common.

A generated file can lack parts of its source: a compiler removes types, and a declaration has no
body. In that case the share is counted over the terms of the generated file.
"""


def without_copies(hits: Sequence[Hit], text_of: Callable[[Hit], bytes | None]) -> list[Hit]:
    """Return `hits` with one item for each set of copies, at the position of the first copy.

    Copies are in different files. They have the same name, owner, kind and file stem, and nearly
    the same terms. The original source is kept. Its compiled, declared and vendored copies are
    dropped. `text_of` returns the bytes of an item. An item without bytes is never a copy.
    """
    groups: defaultdict[tuple[str, ...], list[Hit]] = defaultdict(list)
    for hit in hits:
        groups[_named(hit)].append(hit)
    known: dict[Hit, frozenset[str] | None] = {}

    def terms(hit: Hit) -> frozenset[str] | None:
        if hit not in known:
            text = text_of(hit)
            known[hit] = None if text is None else frozenset(term_counts(text.decode("latin-1")))
        return known[hit]

    removed: set[Hit] = set()
    kept: list[Hit] = []
    for hit in hits:
        if hit in removed:
            continue
        copies = [hit]
        rest = [other for other in groups[_named(hit)] if other not in removed and other != hit]
        for copy in (
            copies
        ):  # `copies` grows in the loop: a declaration may be similar only to the compiled file
            similar = [other for other in rest if _are_copies(copy, other, terms)]
            copies += similar
            rest = [other for other in rest if other not in similar]
        removed.update(copies)
        kept.append(min(copies, key=_distance))
    return kept


def _named(hit: Hit) -> tuple[str, ...]:
    stem = hit.file.rpartition("/")[2].partition(".")[0]
    return hit.kind, stem, hit.name, *_PATH_SEPARATORS.split(hit.canonical_path)[-2:]


def _distance(hit: Hit) -> tuple[bool, bool, int]:
    """Return the sort key of copies, which is smallest for the original source."""
    return hit.is_aside, bool(_BUILT.search(hit.file)), _build_step(hit)


def _build_step(hit: Hit) -> int:
    """Return the build step of a file by its name.

    A source has 0, a compiled file has 1, and a declaration file has 2.
    """
    return 2 if DECLARATIONS.search(hit.file) else int(bool(_COMPILED.search(hit.file)))


def _are_copies(one: Hit, other: Hit, terms: Callable[[Hit], frozenset[str] | None]) -> bool:
    if one.file == other.file:
        return False  # overloads and repeated definitions are not copies
    left, right = terms(one), terms(other)
    if left is None or right is None:
        return False
    if _build_step(one) == _build_step(other):
        compared = len(left | right)
    else:
        compared = len(
            max((_build_step(one), left), (_build_step(other), right), key=lambda of: of[0])[1]
        )
    return len(left & right) >= _ALIKE * compared


Owners = Callable[[Sequence[int]], Mapping[int, Hit]]

_STEEPNESS = 7.0
"""How fast the probability that an item is wanted falls as its score falls.

The probability is proportional to exp(steepness * fraction), where the fraction is the score
divided by the best score. Measured on 552 queries from the history of 19 tuning repositories: 19 %
of the functions with 0.9 to 1 of the best score had to change. With 0.7 to 0.8 it was 3 %, and with
0.5 to 0.6 it was 1 %.
"""

_SIZE = 0.3
"""The exponent of the size of an item in its gain, which is probability / size ** exponent.

With the exponent 0, only the scores count. With 1, the gain per token counts. A larger exponent
fills a context with tiny items. On the same queries, a context of 2,000 tokens had this share of
the wanted functions: 0.527 with 0.3, 0.511 with 0.7, and 0.515 with scores alone.
"""

_MIN_BYTES = 200
"""An item with fewer bytes than this gets the gain of an item with this size.

Each entry takes a fixed number of tokens in addition to its code. Without this minimum, tiny items
would seem too cheap.
"""

_MAX_BYTES = 4_000
"""An item with more bytes than this gets the gain of an item with this size.

Only a part of such an item is shown.
"""


@dataclass(slots=True)
class SelectedItems:
    """Items for a context, best first. `lost` counts items that could not be read."""

    candidates: list[ContextItem] = field(default_factory=list)
    owners: dict[int, ContextItem] = field(default_factory=dict)
    """The types that contain the candidates, by the position of the candidate."""
    lost: int = 0
    stale: bool = False


def select_items(
    root: Path, question: Question, hits: Sequence[Hit], owners: Owners, *, exact: int, top_k: int
) -> SelectedItems:
    """Order the hits, then read and verify them. A changed file makes the result stale.

    `hits` are ordered best first. The query names the first `exact` hits. `owners` returns the
    types that contain items, by the ids of the items.
    """
    named = {hit.item_id for hit in hits[:exact]}
    files = _Files(root)
    found = SelectedItems()
    texts: set[bytes] = set()
    by_file: defaultdict[str, list[ContextItem]] = defaultdict(list)
    distinct = without_copies(hits, files.text)
    for hit in _stitched_chunks(_by_gain(distinct, named, question)):
        if len(found.candidates) == top_k:
            break
        data = files.data(hit)
        if data is None:
            found.stale = True
            found.lost += 1
            continue
        candidate = ContextItem(
            root, hit, data, files.lines(hit.file, data), question.terms,
            exact=hit.item_id in named,
        )  # fmt: skip
        text = data[hit.start_byte : hit.end_byte]
        if text in texts:
            continue  # an item with the same bytes and another name adds nothing
        if any(other.contains(candidate) for other in by_file[hit.file]):
            continue
        if not candidate.showable:
            found.lost += 1
        else:
            by_file[hit.file].append(candidate)
            texts.add(text)
            found.candidates.append(candidate)
    held_by = owners([candidate.hit.item_id for candidate in found.candidates])
    for position, candidate in enumerate(found.candidates):
        if (owner := held_by.get(candidate.hit.item_id)) is not None:
            found.owners[position] = replace(candidate, hit=owner, exact=False)
    return found


class _Files:
    """The files of an answer. Each file is read once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._data: dict[str, bytes | None] = {}
        self._lines: dict[str, Lines] = {}

    def data(self, hit: Hit) -> bytes | None:
        """Return the bytes of the file, or None if they differ from the indexed bytes."""
        if hit.file not in self._data:
            try:
                data, _ = read_file(self._root, hit.file)
            except OSError:
                data = None
            same = data is not None and content_hash(data) == hit.file_hash
            self._data[hit.file] = data if same else None
        return self._data[hit.file]

    def text(self, hit: Hit) -> bytes | None:
        """Return the bytes of an item, or None if its file has changed."""
        data = self.data(hit)
        return None if data is None else data[hit.start_byte : hit.end_byte]

    def lines(self, file: str, data: bytes) -> Lines:
        if file not in self._lines:
            self._lines[file] = Lines(data)
        return self._lines[file]


def _by_gain(hits: list[Hit], named: set[int], question: Question) -> list[Hit]:
    """Order named items first, then the other items by expected gain for their size.

    Tests come after all other items unless the query asks for tests. Vendored and generated code
    always comes last.
    """
    rest = (hit.score for hit in hits if hit.item_id not in named)
    steepness = _STEEPNESS / (max(rest, default=0.0) or 1.0)
    tests_last = not question.wants_tests

    def order(hit: Hit) -> tuple[bool, bool, float]:
        last = hit.is_aside or (tests_last and hit.is_test)
        if hit.item_id in named:
            return last, False, 0.0
        size = min(max(hit.end_byte - hit.start_byte, _MIN_BYTES), _MAX_BYTES)
        return last, True, -exp(steepness * hit.score) / size**_SIZE

    return sorted(hits, key=order)


def _stitched_chunks(hits: Iterable[Hit]) -> list[Hit]:
    """Join adjacent chunks. The joined chunk takes the position of the better chunk."""
    kept: list[Hit] = []
    chunks: list[int] = []
    for hit in hits:
        is_chunk = hit.kind == Kind.CHUNK.value
        position = next((at for at in chunks if is_chunk and _adjacent(kept[at], hit)), None)
        if position is not None:
            kept[position] = _stitched(kept[position], hit)
            continue
        if is_chunk:
            chunks.append(len(kept))
        kept.append(hit)
    return kept


def _adjacent(left: Hit, right: Hit) -> bool:
    if left.file != right.file:
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
