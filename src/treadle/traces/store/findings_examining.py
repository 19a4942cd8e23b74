"""Examines the spans that are newer than what was examined, and keeps what they tell.

Each step reads some spans, looks at them outside of any transaction, and has the writer keep what
they tell if they are still there as they were. Several processes may do it at once; what was made
by other detectors or other rules begins anew.
"""

import json
import sqlite3
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import blake2b
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from treadle import __version__
from treadle.database import transaction
from treadle.diagnosis import detectors
from treadle.diagnosis.detectors import Layer, Rule
from treadle.diagnosis.detectors.examined import Examined, encode
from treadle.spans.span import Span
from treadle.traces.store import connections, contents, statements

if TYPE_CHECKING:
    from treadle.diagnosis.detectors.examining import Examiner
    from treadle.traces.store.writer import Writer

T = TypeVar("T")

EXAMINED, RULED = "examined", "ruled"

_AT_ONCE = 200
_BYTES_AT_ONCE = 16_000_000
_FORGOTTEN_AT_ONCE = 2_000
_JOB_BYTES = 200_000
"""About how much is written at a time."""

_NEXT = """
    SELECT spans.id, revision, length(data) + coalesce((
        SELECT sum(size) FROM blob_uses JOIN blobs USING (hash) WHERE span = spans.id
    ), 0)
    FROM spans JOIN contents USING (id) WHERE revision > ? ORDER BY revision LIMIT ?"""

Reader = Callable[[], AbstractContextManager[sqlite3.Connection]]


@dataclass(frozen=True, slots=True)
class Progress:
    """Up to which revision the spans were examined by what has that digest; see `state`."""

    digest: bytes | None
    revision: int


@dataclass(frozen=True, slots=True)
class _Batch:
    """Spans that are next, by key, with their revisions; `last` is the highest of those."""

    spans: Mapping[int, Span]
    revisions: Mapping[int, int]
    last: int


def digests(rules: Sequence[Rule]) -> dict[str, bytes]:
    """What must have examined the spans, by the table that holds what they told."""
    ours = _digest_of_detectors()
    if not rules:
        return {EXAMINED: ours}
    plain = [{**asdict(rule), "roles": sorted(rule.roles)} for rule in rules]
    of_rules = blake2b(ours + json.dumps(plain).encode(), digest_size=16).digest()
    return {EXAMINED: ours, RULED: of_rules}


@cache
def _digest_of_detectors() -> bytes:
    """It changes with every line of the detectors, so that nobody has to think of it."""
    digest = blake2b(__version__.encode(), digest_size=16)
    for module in sorted(resources.files(detectors).iterdir(), key=lambda each: each.name):
        if module.name.endswith(".py"):
            digest.update(module.read_bytes())
    return digest.digest()


def progress(connection: sqlite3.Connection, wanted: Mapping[str, bytes]) -> dict[str, Progress]:
    """How far the spans were examined; by other detectors or rules is not at all."""
    found = {
        table: Progress(digest, revision)
        for table, digest, revision in connection.execute("SELECT * FROM examinations")
    }
    return {
        table: found[table] if found[table].digest == digest else Progress(None, 0)
        for table, digest in wanted.items()
    }


def examiners(rules: Sequence[Rule]) -> dict[str, "Examiner"]:
    """What examines a span for each table."""
    from treadle.diagnosis.detectors.examining import Examiner

    made = {EXAMINED: Examiner(layers=(Layer.SIGNALS, Layer.PATTERNS))}
    if rules:
        made[RULED] = Examiner(rules, layers=(Layer.RULES,))
    return made


class Examining:
    """Examines what is new. One thread of a process at a time; the others wait for it."""

    def __init__(self, path: Path, reader: Reader, writer: "Writer") -> None:
        self._reader = reader
        self._writer = writer
        self._log = connections.LogKeeper(path)
        self._turn = threading.Lock()

    def catch_up(self, rules: Sequence[Rule], *, most: int | None = None) -> int:
        """Examine up to `most` spans that are new; how many were. 0 says that none is left.

        Raises StoreError when the file cannot be read or changed.
        """
        wanted, looking = digests(rules), examiners(rules)
        number = 0
        while most is None or number < most:
            with self._turn:
                done = self._step(wanted, looking, most=_AT_ONCE if most is None else most - number)
            if done == 0:
                break
            number += done
        return number

    def _step(
        self, wanted: Mapping[str, bytes], looking: Mapping[str, "Examiner"], *, most: int
    ) -> int:
        with self._reader() as connection:
            before = progress(connection, wanted)
        for table, digest in wanted.items():
            if before[table].digest is None:
                self._begin_anew(table, digest)
        with self._reader() as connection:
            before = progress(connection, wanted)
            batch = _next(connection, min(each.revision for each in before.values()), most)
        if not batch.spans:
            return 0
        told = {
            table: {
                key: examiner.examine(span)
                for key, span in batch.spans.items()
                if batch.revisions[key] > before[table].revision
            }
            for table, examiner in looking.items()
        }
        self._do(lambda connection: _keep(connection, batch, told, wanted, before))
        return len(batch.spans)

    def _begin_anew(self, table: str, digest: bytes) -> None:
        """Forget what others told, some rows at a time, so that spans are written in between."""
        while self._do(lambda connection: _forget_some(connection, table, digest)):
            pass

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        def job(connection: sqlite3.Connection) -> T:
            result = work(connection)
            self._log.keep_small(connection, _JOB_BYTES)
            return result

        return self._writer.do(job).result()


def _next(connection: sqlite3.Connection, after: int, most: int) -> _Batch:
    """The spans behind that revision, of which the first is taken however large it is."""
    revisions: dict[int, int] = {}
    total, last = 0, after
    for key, revision, size in connection.execute(_NEXT, (after, min(most, _AT_ONCE))):
        total += size
        if revisions and total > _BYTES_AT_ONCE:
            break
        revisions[key] = last = revision
    return _Batch(contents.spans_by_key(connection, revisions), revisions, last)


def _keep(
    connection: sqlite3.Connection,
    batch: _Batch,
    told: Mapping[str, Mapping[int, Examined]],
    wanted: Mapping[str, bytes],
    before: Mapping[str, Progress],
) -> None:
    """Keep what the spans told that are still as they were read."""
    with transaction(connection):
        there = set(
            statements.select(
                connection, "SELECT id, revision FROM spans WHERE id IN ({})", batch.revisions
            )
        )
        same = {key for key, revision in batch.revisions.items() if (key, revision) in there}
        now = progress(connection, wanted)
        for table, examined in told.items():
            if now[table].digest is None or now[table].revision < before[table].revision:
                continue  # another process has begun anew meanwhile
            _replace(connection, table, examined, same)
            connection.execute(
                "UPDATE examinations SET revision = max(revision, ?) WHERE kept_in = ?",
                (batch.last, table),
            )


def _replace(
    connection: sqlite3.Connection,
    table: str,
    examined: Mapping[int, Examined],
    same: Collection[int],
) -> None:
    keys = [key for key in examined if key in same]
    statements.run(connection, f"DELETE FROM {table} WHERE span IN ({{}})", keys)  # noqa: S608
    found = [(key, examined[key], encode(examined[key])) for key in keys]
    if table == RULED:
        rows = [(key, data) for key, each, data in found if each.told]
        statements.insert(connection, "INSERT INTO ruled (span, told)", rows)
        return
    statements.insert(
        connection,
        "INSERT INTO examined (span, call, found_nothing, told)",
        [
            (
                key,
                bytes.fromhex(each.call_digest) if each.call_digest else None,
                each.found_nothing,
                data if each.told else None,
            )
            for key, each, data in found
            if each.call_digest or each.told
        ],
    )


def _forget_some(connection: sqlite3.Connection, table: str, digest: bytes) -> bool:
    """Forget some rows that others made; whether there are more."""
    with transaction(connection):
        if progress(connection, {table: digest})[table].digest is not None:
            return False  # another process of the same kind was quicker
        gone = connection.execute(
            f"DELETE FROM {table} WHERE span IN (SELECT span FROM {table} LIMIT ?)",  # noqa: S608
            (_FORGOTTEN_AT_ONCE,),
        ).rowcount
        connection.execute(
            "UPDATE examinations SET digest = ?, revision = 0 WHERE kept_in = ?",
            (None if gone else digest, table),
        )
    return gone > 0
