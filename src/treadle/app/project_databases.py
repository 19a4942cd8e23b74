"""The databases of all stores of one project, for the commands that examine or copy them."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

from treadle.app.stores import Stores
from treadle.database import Connection, Database, open_database
from treadle.database.address import DEFAULT_PROJECT
from treadle.database.copying import Shown, copy_database

_RECOUNT_SECONDS = 24 * 3600.0


def project_databases(stores: Stores) -> tuple[Database, ...]:
    """Return the databases of a project. Those of the default project include the identities."""
    from treadle.edits import proposal_store
    from treadle.experiments import store as experiments
    from treadle.gateway import breakpoint_store as breakpoints
    from treadle.identity import schema as identity
    from treadle.mcp_client import known
    from treadle.session import conversations
    from treadle.tools.approvals import grants
    from treadle.traces.store import migrations as traces
    from treadle.ui import store as ui

    found = [
        open_database(stores.traces, traces.SCHEMA),
        open_database(stores.conversations, conversations.SCHEMA),
        open_database(stores.approvals, grants.SCHEMA),
        open_database(stores.proposals, proposal_store.SCHEMA),
        open_database(stores.breakpoints, breakpoints.SCHEMA),
        open_database(stores.mcp, known.SCHEMA),
        open_database(stores.ui, ui.SCHEMA),
        open_database(stores.experiments, experiments.SCHEMA),
    ]
    if stores.project == DEFAULT_PROJECT:
        found.append(open_database(stores.identity, identity.SCHEMA))
    return tuple(found)


def copy_project(source: Stores, target: Stores, shown: Shown) -> Mapping[str, Mapping[str, int]]:
    """Copy all stores of a project, and return the rows of each table of each store.

    An interrupted copy is continued. Stores that `source` does not have are left out. Raises
    UsageError if the target has other data, and StoreError if a copy differs from its source.
    """
    from treadle.traces.store.migrations import SCHEMA as SPANS

    copied: dict[str, Mapping[str, int]] = {}
    for reading, writing in zip(
        project_databases(source),
        project_databases(target),
        strict=False,  # only the default project has the identities
    ):
        if not reading.exists:
            continue
        with reading, writing:
            copied[reading.schema.records] = (
                copy_database(
                    reading,
                    writing,
                    shown=shown,
                    writers={"texts": _insert_texts},
                    prepare=_prepare_writer,
                )
                if reading.schema is SPANS
                else copy_database(reading, writing, shown=shown)
            )
    return copied


def wrong_span_sums(stores: Stores) -> list[str]:
    """Return a sentence for each table of sums of spans that differs from a recount."""
    from treadle.traces.store.migrations import SCHEMA
    from treadle.traces.store.recount import wrong_sums

    database = open_database(stores.traces, SCHEMA)
    if not database.exists:
        return []
    with (
        closing(database.connect_reader()) as connection,
        database.read(connection, _RECOUNT_SECONDS),
    ):
        return wrong_sums(connection)


def _prepare_writer(connection: Connection) -> None:
    from treadle.traces.store.engines import engine_of

    engine_of(connection).prepare_writer(connection)


def _insert_texts(connection: Connection, rows: Sequence[tuple[Any, ...]]) -> None:
    from treadle.traces.store.engines import engine_of

    engine = engine_of(connection)
    texts = [(row[0], *engine.text_row((row[1], row[2], row[3]))) for row in rows]
    engine.insert_texts(connection, texts)
