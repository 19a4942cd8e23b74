"""Context within a budget: which of the retrieved items are shown, whole or as signatures."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from treadle.code.extract import Lines
from treadle.code.files import content_hash, read_file
from treadle.code.model import ContextEntry, ContextResult, Kind
from treadle.code.ranking import Hit, asks_for_tests
from treadle.code.snippets import write_snippet

Fits = Callable[[Sequence[ContextEntry], int], bool]

_HEAD_LINES = 12
"""Lines below the signature that are shown of what is too long to be shown whole."""
_SPARE = 3
"""Retrieved per wanted item, so that duplicates and unreadable ones can be replaced."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A retrieved item with its exact bytes: `forms` from the whole item to its signature.

    The form between is its head: doc comment, signature and the first lines of its body.
    """

    hit: Hit
    forms: tuple[ContextEntry, ...]


@dataclass(slots=True)
class Retrieved:
    """Candidates, best first; `lost` counts those whose file is gone or cannot be shown."""

    candidates: list[Candidate] = field(default_factory=list)
    lost: int = 0
    stale: bool = False


def retrieve(root: Path, query: str, hits: list[Hit], top_k: int) -> Retrieved:
    """Order, read and verify. A file that is not the one indexed makes the result stale."""
    chosen = _distinct(_ordered(hits[: _SPARE * top_k], query, top_k))[:top_k]
    found = Retrieved()
    texts: set[bytes] = set()
    files: dict[str, tuple[bytes, Lines] | None] = {}
    for hit in chosen:
        if hit.file not in files:
            files[hit.file] = _verified(root, hit)
        content = files[hit.file]
        if content is None:
            found.stale = True
            found.lost += 1
            continue
        candidate = _candidate(root, hit, *content)
        text = content[0][hit.start_byte : hit.end_byte]
        if not candidate.forms:
            found.lost += 1
        elif text not in texts:  # a copy of the same code elsewhere says nothing new
            texts.add(text)
            found.candidates.append(candidate)
    return found


def _ordered(hits: list[Hit], query: str, top_k: int) -> list[Hit]:
    """Best first; what exceeds a file's share comes later.

    Tests are last unless they are asked for, and vendored and generated code is.
    """
    share = max(2, top_k // 2)
    seen: Counter[str] = Counter()
    keyed: list[tuple[bool, bool, int, Hit]] = []
    tests_last = not asks_for_tests(query)
    for place, hit in enumerate(hits):
        seen[hit.file] += 1
        last = (tests_last and hit.is_test) or hit.is_aside
        keyed.append((last, seen[hit.file] > share, place, hit))
    return [hit for _, _, _, hit in sorted(keyed, key=lambda entry: entry[:3])]


def _distinct(hits: list[Hit]) -> list[Hit]:
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


def _verified(root: Path, hit: Hit) -> tuple[bytes, Lines] | None:
    """The bytes of the file if they are those that were indexed."""
    try:
        data, _ = read_file(root / hit.file)
    except OSError:
        return None
    if data is None or content_hash(data) != hit.file_hash:
        return None
    return data, Lines(data)


def _candidate(root: Path, hit: Hit, data: bytes, lines: Lines) -> Candidate:
    start, end = hit.start_byte, hit.end_byte
    spans = [(start, end)]
    if hit.signature_start < hit.signature_end:
        last = lines.of(hit.signature_end - 1) + _HEAD_LINES
        if last < hit.end_line:
            spans.append((start, lines.starts[last] - 1))
        if (hit.signature_start, hit.signature_end) != (start, end):
            spans.append((hit.signature_start, hit.signature_end))
    forms = (_entry(root, hit, data, lines, span=span, whole=span == spans[0]) for span in spans)
    return Candidate(hit, tuple(form for form in forms if form is not None))


def _entry(
    root: Path, hit: Hit, data: bytes, lines: Lines, *, span: tuple[int, int], whole: bool
) -> ContextEntry | None:
    """The entry of a range; None for bytes or a path that the snippet format cannot carry."""
    start, end = span
    try:
        snippet = write_snippet(str(root / hit.file), start, end, data[start:end])
    except ValueError:
        return None
    return ContextEntry(
        hit.name, hit.canonical_path, hit.kind, hit.file,
        lines.of(start), lines.of(max(start, end - 1)), start, end, snippet, whole,
    )  # fmt: skip


def assemble(query: str, top_k: int, found: Retrieved, fits: Fits) -> ContextResult:
    """Fill the budget in two rounds: everything as far as it fits, then more of each.

    In the first round an item has the largest form that takes at most half of what is left, so
    that one large item does not leave room for nothing else. What the removal of repeated code
    frees is filled as well.
    """
    total = len(found.candidates) + found.lost
    chosen: dict[int, ContextEntry] = {}

    def allowed(place: int, entry: ContextEntry, *, spare: bool) -> bool:
        with_it = {**chosen, place: entry}
        proposed = [with_it[key] for key in sorted(with_it)]
        return fits([*proposed, entry] if spare else proposed, total)

    for place, candidate in enumerate(found.candidates):
        for form in candidate.forms:
            if allowed(place, form, spare=form is not candidate.forms[-1] or form.whole):
                chosen[place] = form
                break
    for _ in range(2):
        for place, candidate in enumerate(found.candidates):
            present = chosen.get(place)
            larger = candidate.forms[: candidate.forms.index(present) if present else None]
            for form in larger:
                if not _covered(form, chosen.values()) and allowed(place, form, spare=False):
                    chosen[place] = form
                    break
        chosen = _without_nested(chosen)
    entries = [chosen[place] for place in sorted(chosen)]
    return _within(query, top_k, entries, total, fits)


def _without_nested(chosen: dict[int, ContextEntry]) -> dict[int, ContextEntry]:
    """Drop what a longer entry already shows, or one of the same range that is better placed."""
    kept: dict[int, ContextEntry] = {}
    for place in sorted(
        chosen, key=lambda place: (chosen[place].start_byte - chosen[place].end_byte, place)
    ):
        if not _covered(chosen[place], kept.values()):
            kept[place] = chosen[place]
    return kept


def _covered(entry: ContextEntry, entries: Iterable[ContextEntry]) -> bool:
    """Whether another entry already shows it."""
    return any(
        other.file == entry.file
        and other.start_byte <= entry.start_byte
        and entry.end_byte <= other.end_byte
        for other in entries
    )


def _within(
    query: str, top_k: int, entries: list[ContextEntry], total: int, fits: Fits
) -> ContextResult:
    """The result, shortened from its end until it fits with the true count of what is left out."""
    while entries and not fits(entries, total - len(entries)):
        entries = entries[:-1]
    return ContextResult(query, top_k, tuple(entries), total - len(entries))
