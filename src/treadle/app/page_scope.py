"""What a person named on the command line, with whole ids: lists show the beginning of them."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from treadle.agents.page import PageContext
from treadle.errors import NotFoundError, UsageError
from treadle.traces.own_spans import OF_OTHERS
from treadle.traces.query import Query, any_of
from treadle.traces.query.conditions import Field

if TYPE_CHECKING:
    from treadle.traces import SqliteTraceStore

LAST = "last"
"""The newest one that is none of the analyst's own."""
MOST_SEARCHED = 1_000
"""The newest runs and threads whose ids may be shortened."""


def whole_page(store: "SqliteTraceStore", page: PageContext) -> PageContext:
    """`page` with the ids that its references mean.

    Raises NotFoundError for what is not recorded, UsageError for what several ids begin with.
    """
    whole: dict[str, str] = {}
    if page.trace_id is not None:
        last = page.trace_id.lower() == LAST
        whole["trace_id"] = (
            _newest(run.trace_id for run in store.runs(OF_OTHERS, limit=1).data)
            if last
            else store.trace(page.trace_id).trace_id
        )
    if page.run_id is not None and not _known(store, Field.RUN, page.run_id):
        runs = store.runs(OF_OTHERS, limit=MOST_SEARCHED).data
        whole["run_id"] = _meant("run", page.run_id, [run.run_id for run in runs])
    if page.thread_id is not None and not _known(store, Field.THREAD, page.thread_id):
        threads = store.threads(OF_OTHERS, limit=MOST_SEARCHED).data
        ids = [thread.thread_id for thread in threads]
        whole["thread_id"] = _meant("thread", page.thread_id, ids)
    if page.span_id is not None and not _known(store, Field.SPAN, page.span_id):
        raise _missing("span", page.span_id)
    return page.model_copy(update=whole)


def _known(store: "SqliteTraceStore", field: Field, value: str) -> bool:
    return bool(store.spans(Query((any_of(field, [value]),)), limit=1).data)


def _meant(what: str, reference: str, ids: list[str]) -> str:
    if reference.lower() == LAST:
        return _newest(ids)
    begin = reference.replace("-", "").lower()
    found = [each for each in ids if each.replace("-", "").lower().startswith(begin)]
    if len(found) > 1:
        raise UsageError(
            f"Several {what}s begin with {reference!r}.", hint="Give more characters of the id."
        )
    if not found:
        raise _missing(what, reference)
    return found[0]


def _newest(ids: Iterable[str]) -> str:
    for each in ids:
        return each
    raise NotFoundError(
        "There are no traces.", hint="docs/tracing-in.md describes how to send traces."
    )


def _missing(what: str, reference: str) -> NotFoundError:
    return NotFoundError(
        f"No {what} {reference!r} is recorded.",
        hint="`treadle traces list` shows the newest, and `last` means the last one.",
    )
