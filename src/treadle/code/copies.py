"""Copies of one item: what a build, a packager or a vendor made of the same source."""

import re
from collections import defaultdict
from collections.abc import Callable, Sequence

from treadle.code.ranking import DECLARATIONS, Hit
from treadle.code.terms import term_counts

_SEPARATORS = re.compile(r"::|[.#/\\]")
_COMPILED = re.compile(r"\.[cm]?jsx?$")
_BUILT = re.compile(r"(?:^|/)(?:dist|build|out|cjs|esm|umd|bundles?)/")
_ALIKE = 0.6
"""Share of their terms that copies have in common at least; of what is made of the other (a
compiler removes types, a declaration has no body) the share of its own terms."""


def without_copies(hits: Sequence[Hit], text_of: Callable[[Hit], bytes | None]) -> list[Hit]:
    """`hits` with one of all copies of an item, in the place of the best.

    Copies have the same name, owner, kind and file stem in different files, and nearly the same
    terms. The source is kept rather than what was built, declared or vendored from it. `text_of`
    gives the bytes of an item, None if they cannot be had; then it is no copy.
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

    gone: set[Hit] = set()
    kept: list[Hit] = []
    for hit in hits:
        if hit in gone:
            continue
        copies = [hit]
        others = [other for other in groups[_named(hit)] if other not in gone and other != hit]
        for copy in copies:  # grows: what is compiled is like its source, which is like the types
            alike = [other for other in others if _alike(copy, other, terms)]
            copies += alike
            others = [other for other in others if other not in alike]
        gone.update(copies)
        kept.append(min(copies, key=_distance))
    return kept


def _named(hit: Hit) -> tuple[str, ...]:
    stem = hit.file.rpartition("/")[2].partition(".")[0]
    return hit.kind, stem, hit.name, *_SEPARATORS.split(hit.canonical_path)[-2:]


def _distance(hit: Hit) -> tuple[bool, bool, int]:
    """How far from the source a copy is; of equal ones the best placed is kept."""
    return hit.is_aside, bool(_BUILT.search(hit.file)), _made(hit)


def _made(hit: Hit) -> int:
    """Of which step of a build the file is, by its name: source, compiled, declarations."""
    return 2 if DECLARATIONS.search(hit.file) else int(bool(_COMPILED.search(hit.file)))


def _alike(one: Hit, other: Hit, terms: Callable[[Hit], frozenset[str] | None]) -> bool:
    if one.file == other.file:
        return False  # overloads, and what is defined twice
    left, right = terms(one), terms(other)
    if left is None or right is None:
        return False
    if _made(one) == _made(other):
        compared = len(left | right)
    else:
        compared = len(max((_made(one), left), (_made(other), right), key=lambda of: of[0])[1])
    return len(left & right) >= _ALIKE * compared
