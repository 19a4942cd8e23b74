"""Stores experiments in a SQLite file. Each write is on disk before its method returns."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any

from treadle.database import (
    Connection,
    Schema,
    StoreAddress,
    ids_with_prefix,
    open_database,
    storable_text,
)
from treadle.errors import NotFoundError, UsageError
from treadle.experiments.model import (
    Batch,
    BatchState,
    Budget,
    Cell,
    Experiment,
    Item,
    Judgement,
    LastBatch,
    ListedExperiment,
    Outcome,
    Plan,
    ToolUse,
    Variant,
    Version,
    Winner,
)
from treadle.ids import is_last, resolve_prefix

_MIGRATIONS = (
    """CREATE TABLE experiments (id TEXT PRIMARY KEY, name TEXT NOT NULL,
        created_us INTEGER NOT NULL, updated_us INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE items (experiment TEXT NOT NULL, number INTEGER NOT NULL,
        trace_id TEXT NOT NULL, span_id TEXT NOT NULL, data TEXT NOT NULL,
        PRIMARY KEY (experiment, number));
    CREATE INDEX items_by_span ON items (span_id, trace_id);
    CREATE TABLE versions (experiment TEXT NOT NULL, number INTEGER NOT NULL,
        at_us INTEGER NOT NULL, patch TEXT NOT NULL, note TEXT NOT NULL,
        PRIMARY KEY (experiment, number));
    CREATE TABLE batches (id TEXT PRIMARY KEY, experiment TEXT NOT NULL,
        created_us INTEGER NOT NULL, state TEXT NOT NULL, plan TEXT NOT NULL, reason TEXT,
        cancelling INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
    CREATE INDEX batches_by_experiment ON batches (experiment, id);
    CREATE TABLE runs (batch TEXT NOT NULL, variant INTEGER NOT NULL, item INTEGER NOT NULL,
        repeat INTEGER NOT NULL, outcome TEXT, PRIMARY KEY (batch, variant, item, repeat));
    CREATE TABLE judgements (batch TEXT NOT NULL, variant INTEGER NOT NULL, item INTEGER NOT NULL,
        repeat INTEGER NOT NULL, base INTEGER NOT NULL, model TEXT NOT NULL,
        criteria TEXT NOT NULL, swapped INTEGER NOT NULL, winner TEXT NOT NULL,
        reason TEXT NOT NULL, trace_id TEXT NOT NULL, span_id TEXT NOT NULL,
        PRIMARY KEY (batch, variant, item, repeat, base, model, criteria, swapped))""",
)
SCHEMA = Schema.of_migrations("experiments", _MIGRATIONS, busy_seconds=30.0)


_HEADS = "SELECT id, name, created_us, updated_us FROM experiments"
_BATCHES = """SELECT b.id, b.experiment, b.created_us, b.state, b.plan, b.reason,
    (SELECT count(*) FROM items i WHERE i.experiment = b.experiment) FROM batches b"""
_LAST_BATCH = """SELECT b.id, b.created_us, b.state, b.plan,
    (SELECT count(*) FROM items i WHERE i.experiment = b.experiment),
    (SELECT count(outcome) FROM runs r WHERE r.batch = b.id),
    (SELECT count(*) FROM runs r WHERE r.batch = b.id AND instr(outcome, '"error": null') = 0)
    FROM batches b WHERE b.experiment = ? ORDER BY b.id DESC LIMIT 1"""


_NOUNS = {"experiments": "experiment", "batches": "batch"}


class ExperimentStore:
    """Stores experiments. Several threads and processes may use one file concurrently."""

    def __init__(self, address: StoreAddress) -> None:
        """Create the store without opening the file.

        The first use opens the file. If it is missing, it is created, and only its owner may use
        it.
        """
        self._database = open_database(address, SCHEMA)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` after each change that this object makes, in the thread of the change."""
        self._database.on_commit(listener)

    def close(self) -> None:
        """Close the file if it is open."""
        self._database.close()

    # ---- experiments

    def create(self, experiment: Experiment) -> None:
        """Store a new experiment without versions."""
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO experiments VALUES (?, ?, ?, ?)",
                (experiment.id, experiment.name, experiment.created_us, experiment.updated_us),
            )
            connection.executemany(
                "INSERT INTO items VALUES (?, ?, ?, ?, ?)",
                [
                    (
                        experiment.id,
                        item.number,
                        storable_text(item.trace_id),
                        storable_text(item.span_id),
                        _dump(item),
                    )
                    for item in experiment.items
                ],
            )

    def experiment(self, reference: str) -> Experiment:
        """The experiment with the id `reference`, a unique prefix of an id, or `last`.

        `last` means the most recently changed experiment. Raises NotFoundError, and UsageError for
        an ambiguous prefix.
        """
        with self._database.use() as connection:
            head = _one(connection, _HEADS, "experiments", reference, newest="updated_us DESC, id")
            items = connection.execute(
                "SELECT data FROM items WHERE experiment = ? ORDER BY number", (head[0],)
            ).fetchall()
            versions = connection.execute(
                "SELECT number, at_us, patch, note FROM versions WHERE experiment = ? "
                "ORDER BY number",
                (head[0],),
            ).fetchall()
        return Experiment(
            id=head[0],
            name=head[1],
            created_us=head[2],
            updated_us=head[3],
            items=tuple(_parse_item(data) for (data,) in items),
            versions=tuple(
                Version(number=number, at_us=at_us, patch=json.loads(patch), note=note)
                for number, at_us, patch, note in versions
            ),
        )

    def list_experiments(self, *, limit: int, offset: int) -> tuple[list[ListedExperiment], int]:
        """A page of the experiments, most recently changed first, and their total number."""
        with self._database.use() as connection:
            rows = connection.execute(
                "SELECT id, name, created_us, updated_us, "
                "(SELECT count(*) FROM items WHERE experiment = id), "
                "(SELECT count(*) FROM versions WHERE experiment = id) "
                "FROM experiments ORDER BY updated_us DESC, id DESC LIMIT ? OFFSET ?",
                (limit, offset),
            ).fetchall()
            (total,) = connection.execute("SELECT count(*) FROM experiments").fetchone()
            return [
                replace(ListedExperiment(*row), last_batch=_last_batch(connection, row[0]))
                for row in rows
            ], total

    def of_span(self, trace_id: str, span_id: str) -> str | None:
        """The id of the newest experiment whose only call is the given span, or None."""
        with self._database.use() as connection:
            row = connection.execute(
                "SELECT experiment FROM items i WHERE trace_id = ? AND span_id = ? AND "
                "(SELECT count(*) FROM items j WHERE j.experiment = i.experiment) = 1 "
                "ORDER BY experiment DESC LIMIT 1",
                (storable_text(trace_id), storable_text(span_id)),
            ).fetchone()
        return row[0] if row else None

    def add_version(self, experiment_id: str, version: Version) -> None:
        """Store a version.

        Raises UsageError if its number is not the next one, because another process has added a
        version.
        """
        with self._database.transaction() as connection:
            (newest,) = connection.execute(
                "SELECT coalesce(max(number), 0) FROM versions WHERE experiment = ?",
                (experiment_id,),
            ).fetchone()
            if version.number != newest + 1:
                raise UsageError(
                    "The experiment was changed at the same time.", hint="Review it and try again."
                )
            connection.execute(
                "INSERT INTO versions VALUES (?, ?, ?, ?, ?)",
                (experiment_id, version.number, version.at_us, json.dumps(version.patch),
                 version.note),
            )  # fmt: skip
            _touch(connection, experiment_id, version.at_us)

    def delete(self, experiment_id: str) -> None:
        """Delete an experiment with its versions, batches and scores. The recorded spans stay."""
        of_batches = "batch IN (SELECT id FROM batches WHERE experiment = ?)"
        with self._database.transaction() as connection:
            for statement in (
                f"DELETE FROM judgements WHERE {of_batches}",  # noqa: S608  (our own constant)
                f"DELETE FROM runs WHERE {of_batches}",  # noqa: S608
                "DELETE FROM batches WHERE experiment = ?",
                "DELETE FROM versions WHERE experiment = ?",
                "DELETE FROM items WHERE experiment = ?",
                "DELETE FROM experiments WHERE id = ?",
            ):
                connection.execute(statement, (experiment_id,))

    # ---- batches and their runs

    def add_batch(self, batch: Batch) -> None:
        """Store a batch without runs."""
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO batches (id, experiment, created_us, state, plan) "
                "VALUES (?, ?, ?, ?, ?)",
                (batch.id, batch.experiment_id, batch.created_us, batch.state.value,
                 _dump(batch.plan)),
            )  # fmt: skip
            _touch(connection, batch.experiment_id, batch.created_us)

    def batch(self, reference: str) -> Batch:
        """The batch with the id `reference`, a unique prefix of an id, or `last`.

        `last` means the newest batch. Raises NotFoundError, and UsageError for an ambiguous prefix.
        """
        with self._database.use() as connection:
            return self._batch(connection, _one(connection, _BATCHES, "batches", reference))

    def batches(self, experiment_id: str) -> list[Batch]:
        """The batches of an experiment, oldest first."""
        with self._database.use() as connection:
            rows = connection.execute(
                f"{_BATCHES} WHERE b.experiment = ? ORDER BY b.id", (experiment_id,)
            ).fetchall()
            return [self._batch(connection, row) for row in rows]

    def set_state(self, batch_id: str, state: BatchState, reason: str | None = None) -> None:
        """Set the state of a batch, and remove a request to cancel it."""
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE batches SET state = ?, reason = ?, cancelling = 0 WHERE id = ?",
                (state.value, reason, batch_id),
            )

    def set_plan(self, batch_id: str, plan: Plan) -> None:
        """Replace the plan of a batch, so that it can be resumed with another budget."""
        with self._database.transaction() as connection:
            connection.execute("UPDATE batches SET plan = ? WHERE id = ?", (_dump(plan), batch_id))

    def ask_to_cancel(self, batch_id: str) -> None:
        """Request the cancellation of a batch."""
        with self._database.transaction() as connection:
            connection.execute("UPDATE batches SET cancelling = 1 WHERE id = ?", (batch_id,))

    def is_cancelling(self, batch_id: str) -> bool:
        """Whether the cancellation of the batch is requested."""
        with self._database.use() as connection:
            row = connection.execute(
                "SELECT cancelling FROM batches WHERE id = ?", (batch_id,)
            ).fetchone()
        return bool(row and row[0])

    def begin(self, batch_id: str, cell: Cell) -> None:
        """Record that a run starts.

        If the process ends before the outcome is stored, the resumed batch looks for the span of
        this run.
        """
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO runs VALUES (?, ?, ?, ?, NULL)",
                (batch_id, cell.variant, cell.item, cell.repeat),
            )

    def finish(self, batch_id: str, cell: Cell, outcome: Outcome) -> None:
        """Store the outcome of a run."""
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO runs VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (batch, variant, item, repeat) DO UPDATE SET"
                " outcome = excluded.outcome",
                (batch_id, cell.variant, cell.item, cell.repeat, _dump(outcome)),
            )

    @contextmanager
    def running(self, batch_id: str) -> Iterator[None]:
        """Mark the batch as running while the context is active.

        Raises UsageError if another call, in this process or another one, runs the batch.
        """
        with self._database.hold(batch_id) as held:
            if not held:
                raise UsageError(
                    "This batch is running.", hint="Wait until it ends, or cancel it first."
                )
            yield

    def is_running(self, batch_id: str) -> bool:
        """Whether a process runs the batch."""
        return self._database.is_held(batch_id)

    def unfinished_runs(self, batch_id: str) -> set[Cell]:
        """The runs that started and have no outcome."""
        with self._database.use() as connection:
            rows = connection.execute(
                "SELECT variant, item, repeat FROM runs WHERE batch = ? AND outcome IS NULL",
                (batch_id,),
            ).fetchall()
        return {Cell(*row) for row in rows}

    # ---- judgements

    def add_judgement(self, batch_id: str, judgement: Judgement) -> None:
        """Store the answer of a scoring model about one pair in one order."""
        cell = judgement.cell
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO judgements VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (batch, variant, item, repeat, base, model, criteria, swapped)"
                " DO UPDATE SET winner = excluded.winner, reason = excluded.reason,"
                " trace_id = excluded.trace_id, span_id = excluded.span_id",
                (batch_id, cell.variant, cell.item, cell.repeat, judgement.base, judgement.model,
                 judgement.criteria, judgement.swapped, judgement.winner.value, judgement.reason,
                 judgement.trace_id, judgement.span_id),
            )  # fmt: skip

    def judgements(self, batch_id: str) -> list[Judgement]:
        """The answers of scoring models about the runs of a batch."""
        with self._database.use() as connection:
            rows = connection.execute(
                "SELECT variant, item, repeat, base, model, criteria, swapped, winner, reason, "
                "trace_id, span_id FROM judgements WHERE batch = ? "
                "ORDER BY variant, item, repeat, model, criteria, swapped",
                (batch_id,),
            ).fetchall()
        return [
            Judgement(
                cell=Cell(*row[:3]), base=row[3], model=row[4], criteria=row[5],
                swapped=bool(row[6]), winner=Winner(row[7]), reason=row[8], trace_id=row[9],
                span_id=row[10],
            )
            for row in rows
        ]  # fmt: skip

    def _batch(self, connection: Connection, row: Sequence[Any]) -> Batch:
        runs = connection.execute(
            "SELECT variant, item, repeat, outcome FROM runs "
            "WHERE batch = ? AND outcome IS NOT NULL ORDER BY repeat, item, variant",
            (row[0],),
        )
        return Batch(
            id=row[0],
            experiment_id=row[1],
            created_us=row[2],
            state=BatchState(row[3]),
            plan=parse_plan(row[4]),
            reason=row[5],
            items=row[6],
            outcomes={
                Cell(variant, item, repeat): _parse_outcome(json.loads(outcome))
                for variant, item, repeat, outcome in runs
            },
        )


def _last_batch(connection: Connection, experiment_id: str) -> LastBatch | None:
    row = connection.execute(_LAST_BATCH, (experiment_id,)).fetchone()
    if row is None:
        return None
    batch_id, created_us, state, plan, items, done, failed = row
    planned = parse_plan(plan)
    total = len(planned.variants) * items * planned.repeats
    return LastBatch(batch_id, created_us, BatchState(state), done, failed, total)


def _one(
    connection: Connection, select: str, table: str, reference: str, *, newest: str = "id"
) -> Sequence[Any]:
    """The row of a table for an id, a unique prefix of an id, or `last`."""
    noun = _NOUNS[table]
    if is_last(reference):
        row = connection.execute(f"{select} ORDER BY {newest} DESC LIMIT 1").fetchone()
        if row is not None:
            return tuple(row)

    def find(prefix: str, limit: int) -> Sequence[str]:
        return ids_with_prefix(connection, table, prefix, limit)

    key = resolve_prefix(reference, find, noun=noun, listing="`treadle experiment list`")
    row = connection.execute(f"{select} WHERE id = ?", (key,)).fetchone()
    if row is None:
        raise NotFoundError(f"The {noun} {key} was deleted meanwhile.")
    return tuple(row)


def _touch(connection: Connection, experiment_id: str, at_us: int) -> None:
    connection.execute("UPDATE experiments SET updated_us = ? WHERE id = ?", (at_us, experiment_id))


def _dump(value: Any) -> str:
    """The JSON text of a dataclass."""
    return json.dumps(asdict(value))


def _parse_item(data: str) -> Item:
    """Parse an item that `_dump` wrote."""
    values: dict[str, Any] = json.loads(data)
    recorded, notes = _parse_outcome(values.pop("recorded")), tuple(values.pop("notes"))
    return Item(recorded=recorded, notes=notes, **values)


def _parse_outcome(values: Mapping[str, Any]) -> Outcome:
    """Convert JSON values to an outcome."""
    calls = tuple(ToolUse(**call) for call in values["tool_calls"])
    return Outcome(**{**values, "tool_calls": calls})


def parse_plan(data: str) -> Plan:
    """Parse a stored plan."""
    values: dict[str, Any] = json.loads(data)
    variants = tuple(Variant(**each) for each in values.pop("variants"))
    return Plan(variants=variants, budget=Budget(**values.pop("budget")), **values)
