"""Adds labels to stored traces and spans, and removes them.

A label of a trace belongs to its root, and the other spans inherit it. One transaction changes the
labels of up to `_TRACES_AT_ONCE` traces. The writer serves other requests between the transactions.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from treadle.database import Connection
from treadle.spans.label_edits import edit_labels
from treadle.spans.span import Span, SpanReference
from treadle.traces.store import contents, statements
from treadle.traces.store.properties import own_labels
from treadle.traces.store.statements import Text, labels_of, pack_text, packed
from treadle.traces.store.writer_thread import Writer

_TRACES_AT_ONCE = 100
_SPANS_AT_ONCE = 250

_OF_RUNS = "SELECT trace_id FROM traces WHERE run_id IN ({})"
_OF_THREADS = "SELECT trace_id FROM runs JOIN traces USING (run_id) WHERE thread_id IN ({})"
_ROOTS = "SELECT id, root FROM traces WHERE trace_id IN ({})"
_LABELLED = """
    SELECT id, labels, inherited_labels FROM spans INDEXED BY spans_of_trace
    WHERE trace IN ({}) AND labels NOTNULL"""
_SPAN = """
    SELECT spans.id FROM traces JOIN spans ON spans.trace = traces.id
    WHERE trace_id = ? AND span_id = ?"""


class Labeller:
    """Changes labels in jobs of the writer, which runs them between the other writes."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def label_traces(
        self,
        *,
        threads: Sequence[str],
        runs: Sequence[str],
        traces: Sequence[str],
        add: Sequence[str],
        remove: Sequence[str],
        at_us: int,
    ) -> int:
        """Change the labels of these traces, and of all traces of these threads and runs.

        Returns the number of spans whose own labels changed.
        """
        found: dict[Text, None] = dict.fromkeys(map(pack_text, traces))
        for statement, ids in ((_OF_THREADS, threads), (_OF_RUNS, runs)):
            found |= dict.fromkeys(self._writer.do(_selected(statement, ids)).result())
        return sum(
            self._writer.edit(_traces_edited(batch, add, remove, at_us)).result()
            for batch in _batches(list(found), _TRACES_AT_ONCE)
        )

    def label_spans(
        self,
        spans: Sequence[SpanReference],
        *,
        add: Sequence[str],
        remove: Sequence[str],
        at_us: int,
    ) -> int:
        """Change the labels of single spans. Returns the number of spans whose labels changed."""
        return sum(
            self._writer.edit(_spans_edited(batch, add, remove, at_us)).result()
            for batch in _batches(spans, _SPANS_AT_ONCE)
        )


T = TypeVar("T")


def _batches(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (values[start : start + size] for start in range(0, len(values), size))


def _selected(statement: str, ids: Sequence[str]) -> Callable[[Connection], list[Text]]:
    def find(connection: Connection) -> list[Text]:
        return [found for (found,) in statements.select(connection, statement, map(packed, ids))]

    return find


def _traces_edited(
    trace_ids: Iterable[Text], add: Sequence[str], remove: Sequence[str], at_us: int
) -> Callable[[Connection], Iterator[Span]]:
    def edited(connection: Connection) -> Iterator[Span]:
        rows = list(statements.select(connection, _ROOTS, trace_ids))
        roots = {root for _, root in rows}
        labelled = set[int]()
        if remove:
            found = statements.select(connection, _LABELLED, [trace for trace, _ in rows])
            labelled = {
                key
                for key, labels, inherited in found
                if not set(remove).isdisjoint(labels_of(own_labels(labels, inherited)))
            }
        for key, span in contents.spans_by_key(connection, sorted(roots | labelled)).items():
            yield from _changed(span, add if key in roots else (), remove, at_us)

    return edited


def _spans_edited(
    references: Iterable[SpanReference], add: Sequence[str], remove: Sequence[str], at_us: int
) -> Callable[[Connection], Iterator[Span]]:
    def edited(connection: Connection) -> Iterator[Span]:
        rows = (
            connection.execute(_SPAN, (packed(trace_id), packed(span_id))).fetchone()
            for trace_id, span_id in references
        )
        keys = sorted({row[0] for row in rows if row is not None})
        for span in contents.spans_by_key(connection, keys).values():
            yield from _changed(span, add, remove, at_us)

    return edited


def _changed(span: Span, add: Sequence[str], remove: Sequence[str], at_us: int) -> Iterator[Span]:
    edited = edit_labels(span, add, remove, at_us)
    if edited is not span:
        yield edited
