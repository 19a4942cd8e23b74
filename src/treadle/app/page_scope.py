"""What a person named on the command line, with whole ids: lists show the beginning of them."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from treadle.agents.page import PageContext
from treadle.errors import NotFoundError
from treadle.ids import is_last, resolve_prefix
from treadle.traces.own_spans import OF_OTHERS
from treadle.traces.query import Query, any_of
from treadle.traces.query.conditions import Field

if TYPE_CHECKING:
    from treadle.traces import SqliteTraceStore

MOST_SEARCHED = 1_000
"""The newest runs and threads whose ids may be shortened."""


def whole_page(store: "SqliteTraceStore", page: PageContext) -> PageContext:
    """`page` with the ids that its references mean.

    Raises NotFoundError for what is not recorded, UsageError for what several ids begin with.
    """
    whole: dict[str, str] = {}
    if page.trace_id is not None:
        whole["trace_id"] = (
            _newest(run.trace_id for run in store.runs(OF_OTHERS, limit=1).data)
            if is_last(page.trace_id)
            else store.trace(page.trace_id).trace_id
        )
    if page.run_id is not None and not _known(store, Field.RUN, page.run_id):
        runs = store.runs(OF_OTHERS, limit=MOST_SEARCHED).data
        whole["run_id"] = _resolved("run", page.run_id, [run.run_id for run in runs])
    if page.thread_id is not None and not _known(store, Field.THREAD, page.thread_id):
        threads = store.threads(OF_OTHERS, limit=MOST_SEARCHED).data
        ids = [thread.thread_id for thread in threads]
        whole["thread_id"] = _resolved("thread", page.thread_id, ids)
    if page.span_id is not None and not _known(store, Field.SPAN, page.span_id):
        raise NotFoundError(
            f"There is no span {page.span_id!r}.", hint="`treadle traces show` lists span ids."
        )
    return page.model_copy(update=whole)


def _known(store: "SqliteTraceStore", field: Field, value: str) -> bool:
    return bool(store.spans(Query((any_of(field, [value]),)), limit=1).data)


def _resolved(noun: str, reference: str, ids: Sequence[str]) -> str:
    if is_last(reference):
        return _newest(ids)

    def find(prefix: str, limit: int) -> list[str]:
        compact = _compact(prefix)
        return [each for each in ids if _compact(each).startswith(compact)][:limit]

    return resolve_prefix(reference, find, noun=noun, listing="`treadle traces list`")


def _compact(identity: str) -> str:
    return identity.replace("-", "").lower()


def _newest(ids: Iterable[str]) -> str:
    for each in ids:
        return each
    raise NotFoundError(
        "There are no traces.", hint="docs/tracing-in.md describes how to send traces."
    )
