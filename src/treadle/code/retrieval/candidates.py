"""Finds the candidates for an answer.

Candidates are the items and files that at least one of several signals finds.
"""

import os
import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from treadle.code.graph.edges import neighbours
from treadle.code.graph.tables import Graph
from treadle.code.model import (
    FUNCTION_KINDS,
    TEXT_KINDS,
    TYPE_KINDS,
    Direction,
    EdgeKind,
    Kind,
)
from treadle.code.retrieval.hits import (
    NO_POSITIONS,
    Candidates,
    Hit,
    NamedPositions,
    WholeFile,
    by_score,
    definitions,
    files_of,
    items_of,
    path_weights,
)
from treadle.code.retrieval.lexical import best_files, rank_by_words
from treadle.code.retrieval.query import Question
from treadle.code.storage.postings import POSITION_BITS, POSITION_MASK

if TYPE_CHECKING:
    from treadle.code.history.file_history import History
    from treadle.code.retrieval.report import Frame


_NAMED_CHANCES = (1.0, 0.7)
"""The probabilities that a named file and a named item are parts of the answer."""

_CALL_CHANCES = ((0.6, 0.5), (0.3, 0.3), (0.05, 0.05))
"""The same probabilities for the calls of a stack trace, beginning with the deepest call.

Only calls of functions in the index count. The last pair is for all further calls.

Measured on the tuning issues of `bench.tasks.issues`: the file of the deepest call is right in 0.6
of the cases, and its function in 0.5. For the next call the values are 0.25 and 0.43. For all other
calls the value is 0.02.
"""

_INSTALLED = ("site-packages", "dist-packages")
"""Folders of installed packages. A path in an installed package is not in the repository."""


def find_named_positions(
    connection: sqlite3.Connection, frames: "Sequence[Frame]"
) -> NamedPositions:
    """Return the files and items of the index at the positions that a text names."""
    found = NamedPositions({}, {})
    if not frames:
        return found
    known = _files_by_end(connection, {end for frame in frames for end in _ends(frame.path)})
    items: dict[int, list[Any]] = {}
    calls: set[tuple[int, int | None]] = set()
    for frame in frames:
        file_id = _own_file(frame.path, known)
        if file_id is None:
            continue
        if file_id not in items:
            items[file_id] = _definitions_of_file(connection, file_id)
        item_id = _item_at(items[file_id], frame)
        of_file, of_item = _NAMED_CHANCES
        if frame.is_call:
            of_file, of_item = _CALL_CHANCES[min(len(calls), len(_CALL_CHANCES) - 1)]
            calls.add((file_id, item_id))
        found.files[file_id] = max(of_file, found.files.get(file_id, 0.0))
        if item_id is not None:
            found.items[item_id] = max(of_item, found.items.get(item_id, 0.0))
    return found


def _ends(path: str) -> Iterator[str]:
    """Yield the ends of a path in whole components: the file name first, the whole path last."""
    parts = path.split("/")
    return ("/".join(parts[at:]) for at in range(len(parts) - 1, -1, -1))


def _files_by_end(connection: sqlite3.Connection, ends: Collection[str]) -> dict[str, int | None]:
    """Map each of the `ends` to the id of the file whose path ends with it.

    Ends that no path has are omitted. The value is None if the paths of several files have the same
    end.
    """
    found: dict[str, int | None] = {}
    for file_id, stored in connection.execute("SELECT id, path FROM files WHERE items > 0"):
        for end in takewhile(ends.__contains__, _ends(os.fsdecode(stored))):
            found[end] = None if end in found else file_id
    return found


def _own_file(path: str, known: Mapping[str, int | None]) -> int | None:
    """Return the known file that shares the longest end with `path`.

    The result is None if the shared end is too short, or if several files have it. A path of
    several parts must share two parts, since names such as `index.js` are in every package. The
    result is also None for a path in an installed package.
    """
    parts = path.split("/")
    shared = [count for count, end in enumerate(_ends(path), start=1) if end in known]
    most = max(shared, default=0)
    if most < min(2, len(parts)):
        return None
    outside = any(
        folder in parts and parts.index(folder) + 1 < len(parts) - most for folder in _INSTALLED
    )
    return None if outside else known["/".join(parts[-most:])]


def _definitions_of_file(connection: sqlite3.Connection, file_id: int) -> list[Any]:
    first = file_id << POSITION_BITS
    rows = connection.execute(
        "SELECT id, name, kind, start_line, end_line FROM items WHERE id BETWEEN ? AND ?",
        (first, first | POSITION_MASK),
    )
    return [row for row in rows if row[2] not in TEXT_KINDS]


def _item_at(rows: Sequence[Any], frame: "Frame") -> int | None:
    """Return the id of the item at a position, or None.

    The name of the function is tried first, since lines differ between versions. After that the
    line is used.
    """
    line = frame.line
    named = [row for row in rows if frame.function and row[1] == frame.function]
    if named:
        return int(min(named, key=lambda row: abs(row[3] - (line or row[3])))[0])
    if line is None:
        return None
    around = [row for row in rows if row[3] <= line <= row[4] and row[2] in FUNCTION_KINDS]
    return int(min(around, key=lambda row: row[4] - row[3])[0]) if around else None


_MAX_NAMES = 12

_MAX_DEFINING_FILES = 4
"""The maximum number of files that define a name. A name that more files define is ignored."""

_MAX_LOOKED_UP = 2_000
"""The maximum number of items of one name whose files are examined.

Most of these files may be tests, which are ignored.
"""

_SHAPED = r"\w*[a-z0-9][A-Z]\w*|\w*[^\W_]_[^\W_]\w*"
"""Names in forms that only code has: `camelCase`, `TwoWords`, `snake_case`."""

_KIND_WORDS = r"class|struct|trait|interface|enum|function|method|macro|type|module|constant"

_NAME = re.compile(
    rf"`(?P<quoted>\w+)(?:\(\))?`|\b(?P<shaped>{_SHAPED})\b|\b(?P<called>\w+)\(\)"
    rf"|(?<=\w )(?P<proper>[A-Z]\w+)\b|\b(?P<before>[A-Z]\w+) (?:{_KIND_WORDS})\b"
)

_NOT_DEFINED = TEXT_KINDS | {Kind.CHUNK, Kind.MODULE}


def mentioned_names(text: str) -> list[str]:
    """Return the words in a text that may be names in code.

    Such a word has the form of a name in code, is quoted, has parentheses of a call, or begins with
    a capital letter. A capital letter at the start of the text does not count.
    """
    found = (match[match.lastgroup or 0] for match in _NAME.finditer(text))
    return list(dict.fromkeys(found))[:_MAX_NAMES]


def files_that_define(connection: sqlite3.Connection, text: str) -> dict[int, float]:
    """Return the files that define a name in `text`, by id, each with a value.

    The value is 1 for the only file that defines a name. The value is less than 1 if several files
    define the name.
    """
    found: dict[int, float] = {}
    for name in mentioned_names(text):
        files = _defining(connection, name)
        if len(files) <= _MAX_DEFINING_FILES:
            for file_id in files:
                found[file_id] = max(found.get(file_id, 0.0), len(files) ** -0.5)
    return found


def _defining(connection: sqlite3.Connection, name: str) -> set[int]:
    """Return the files that define a name, without tests, vendored code and generated code.

    The search stops when there are more than `_MAX_DEFINING_FILES`.
    """
    rows = connection.execute(
        "SELECT DISTINCT f.id, f.path, f.origin, i.kind FROM items AS i"
        " JOIN files AS f ON f.id = i.file_id WHERE i.name = ? LIMIT ?",
        (name, _MAX_LOOKED_UP),
    )
    files: set[int] = set()
    for file_id, path, origin, kind in rows:
        in_tests, is_aside, _ = path_weights(os.fsdecode(path), origin)
        if kind not in _NOT_DEFINED and not in_tests and not is_aside:
            files.add(file_id)
        if len(files) > _MAX_DEFINING_FILES:
            break
    return files


_SEEDS = 3
"""The number of best hits whose callers and callees are added.

With five hits, 900 tuning queries gave no better results.
"""

_CALLABLE = FUNCTION_KINDS | TYPE_KINDS | {Kind.MACRO}

_ALONE = 0.6
"""An added caller or callee of a hit gets at least this fraction of the hit's score."""

_ADDED = 0.2
"""The weight of a hit's score in the new score of its callers and callees.

Their own score has the rest of the weight. If their own score is less than half of the hit's score,
the new score is the minimum (`_ALONE`). With both rules, 900 tuning queries of three languages stay
the same (+0.000 NDCG@10). The MRR of 30 questions about other repositories rose from 0.54 to 0.57.
If a fifth of the hit's score was added to every caller, this MRR rose to 0.61, but the tuning
queries lost 0.03.
"""

_MAX_CALLER_FILES = 8
"""The maximum number of files that are searched for calls of one name."""

_SYMBOL = r"`?(?P<{}>[\w.:$#]+)`?(?:\(\))?"

_USERS_QUESTION = re.compile(
    rf"\s*(?:(?:what|who|which \w+|where)\s+(?:calls?|uses?|invokes?)\s+{_SYMBOL.format('called')}"
    rf"|(?:callers|users|uses|usages)\s+of\s+{_SYMBOL.format('of')}"
    rf"|where\s+is\s+{_SYMBOL.format('used')}\s+(?:called|used|invoked))\s*\??\s*",
    re.IGNORECASE,
)

_USES = frozenset({EdgeKind.CALLS, EdgeKind.USES_TYPE, EdgeKind.INHERITS})

_VERBS = {
    EdgeKind.CALLS: "calls", EdgeKind.USES_TYPE: "uses", EdgeKind.INHERITS: "inherits from",
}  # fmt: skip

_DEFINITIONS = 5

_USERS_FILES = 100
"""The maximum number of files that `find_users` searches for uses of one name."""


def find_users(connection: sqlite3.Connection, graph: Graph, query: str) -> list[Hit]:
    """Return the answer to a question such as "what calls x", or an empty list.

    The answer has the callers, then callers in tests, then the definition. The list is empty for
    other questions, and if the graph has no user of the name.
    """
    match = _USERS_QUESTION.fullmatch(query)
    symbol = next(filter(None, match.groups()), "") if match else ""
    defined = definitions(connection, symbol)[:_DEFINITIONS] if symbol else []
    near = neighbours(graph, [hit.item_id for hit in defined], kinds=_USES, max_files=_USERS_FILES)
    reasons: dict[int, str] = {}
    for definition in defined:
        for other, kind, direction in near.get(definition.item_id, ()):
            if direction is Direction.IN:
                reasons.setdefault(other, f"{_VERBS[kind]} {definition.name}")
    users = [hit._replace(reason=reasons[hit.item_id]) for hit in items_of(connection, reasons)]
    users = sorted(by_score(users), key=lambda hit: hit.is_test or hit.is_aside)
    known = {hit.item_id for hit in users}
    also = [hit for hit in defined if hit.item_id not in known]
    return [*users, *also] if users else []


def add_neighbours(connection: sqlite3.Connection, graph: Graph, found: Candidates) -> Candidates:
    """Add the callers and callees of the best hits, each with the reason.

    Only resolved calls count. Tests and vendored code are not added.
    """
    seeds = {hit.item_id: hit for hit in found.hits[:_SEEDS] if hit.kind in _CALLABLE}
    near = neighbours(graph, seeds, kinds=frozenset({EdgeKind.CALLS}), max_files=_MAX_CALLER_FILES)
    reasons: dict[int, tuple[float, str]] = {}
    for item_id, seed in seeds.items():  # the best hit comes first, so that its reason is kept
        for other, _, direction in near.get(item_id, ()):
            verb = "calls" if direction is Direction.IN else "called by"
            reasons.setdefault(other, (seed.score, f"{verb} {seed.name}"))
    hits = {hit.item_id: hit for hit in found.hits}
    new = items_of(connection, reasons.keys() - hits.keys())
    hits.update((hit.item_id, hit) for hit in new)
    for item_id, (score, reason) in reasons.items():
        hit = hits[item_id]
        if hit.is_test or hit.is_aside:
            continue
        least = (_ALONE - _ADDED) / (1 - _ADDED) * score
        raised = _ADDED * score + (1 - _ADDED) * max(hit.score, least)
        if raised > hit.score:
            hits[item_id] = hit._replace(score=raised, reason=reason)
    nothing = {hit.item_id for hit in new if hits[hit.item_id].score == 0}
    kept = [hit for hit in hits.values() if hit.item_id not in nothing]
    return found._replace(hits=by_score(kept))


_BEST_FILES = 10
"""The number of files with the highest lexical scores for a task, whose items become candidates."""

_TOGETHER = 5
"""If the query is a task, the history is searched for this number of its best files.

Files that changed in the same commits as these files become candidates.
"""


def find_candidates(
    connection: sqlite3.Connection,
    question: Question,
    nearest: Sequence[int],
    graph: Graph,
    history: "Callable[[], History]",
) -> Candidates:
    """Return the candidates for an answer. `nearest` are the items that vectors found.

    `history` is called only if the query is a task.
    """
    scores = best_files(connection, question.terms)
    files = files_of(connection, scores)
    positions = NO_POSITIONS
    if question.frames:
        positions = find_named_positions(connection, question.frames)
    best = _best(files, question) if question.is_task else []
    also = list(dict.fromkeys([*nearest, *positions.items]))
    found = Candidates(
        question, rank_by_words(connection, question, also, best), [], files, positions
    )
    if not found.hits:
        return found
    found = add_neighbours(connection, graph, found)
    if question.is_task or question.files.mentioned:
        found = found._replace(defining=files_that_define(connection, question.text))
    if not question.is_task:
        return found
    known = {*scores, *positions.files, *found.defining, *(hit.file_id for hit in found.hits)}
    past = history().past_of(connection, question.terms, known, best[:_TOGETHER])
    more = files_of(connection, {}, (known | past.keys()) - scores.keys())
    return found._replace(files=[*files, *more], past=past)


def _best(files: Iterable[WholeFile], question: Question) -> list[int]:
    """Return the ids of the best files, whose items become candidates. Source code comes first."""
    worth: dict[int, float] = {}
    for file in files:
        in_tests, _, prior = path_weights(file.path, file.origin)
        tests = question.worth.test if in_tests and not question.wants_tests else 1.0
        texts = question.worth.text if file.is_text else 1.0
        worth[file.id] = file.score * prior * tests * texts
    return sorted(worth, key=lambda file_id: -worth[file_id])[:_BEST_FILES]
