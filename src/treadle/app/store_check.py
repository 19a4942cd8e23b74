"""Examines the stores of a project, for `treadle store check` and `treadle doctor`."""

from dataclasses import dataclass

from treadle.app.project_databases import project_databases, wrong_span_sums
from treadle.app.stores import Stores
from treadle.database import Database
from treadle.errors import StoreError


@dataclass(frozen=True, slots=True)
class StoreState:
    """The state of one store. `version` is 0 if it does not exist."""

    name: str
    records: str
    version: int
    bytes: int
    problem: str | None = None
    """Why the store cannot be used, or None."""
    warning: str | None = None


def check_stores(stores: Stores, *, deep: bool = False) -> list[StoreState]:
    """Examine all stores of a project without changing them.

    If `deep` is True, the sums of spans are compared with a recount, which reads all spans.
    """
    states = [_state(database) for database in project_databases(stores)]
    if deep and states[0].problem is None and (wrong := wrong_span_sums(stores)):
        traces = states[0]
        states[0] = StoreState(
            traces.name, traces.records, traces.version, traces.bytes, "; ".join(wrong)
        )
    return states


def _state(database: Database) -> StoreState:
    records = database.schema.records
    try:
        problem = database.examine()
        version, size = database.stored_version(), database.size()
        warning = database.exposure() if version else None
    except StoreError as error:
        return StoreState(database.name, records, 0, 0, error.message)
    if problem is None and 0 < version < database.schema.version:
        warning = f"version {database.schema.version} is available; run `treadle store migrate`"
    return StoreState(database.name, records, version, size, problem, warning)
