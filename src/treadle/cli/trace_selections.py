"""The sub-commands of `treadle traces` that label and delete threads, runs, traces and spans."""

import argparse
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING

from treadle.app.local_audit import record
from treadle.app.stores import Stores
from treadle.cli.command import RepositoryUse, set_repository_use
from treadle.cli.output import print_json, print_text
from treadle.cli.trace_queries import Actions
from treadle.config.quantities import shown_size
from treadle.errors import ExitStatus, NotFoundError, UsageError
from treadle.identity.records import Action
from treadle.json_values import to_json
from treadle.spans.label_edits import editable_labels
from treadle.traces.query import Field, Query, Rows, any_of, parse_query
from treadle.traces.subjects import span_ids

if TYPE_CHECKING:
    from treadle.traces import TraceStore
    from treadle.traces.selection import Selection

_ROWS = {"thread": Rows.THREADS, "run": Rows.RUNS, "trace": Rows.SPANS, "span": Rows.SPANS}
_FIELDS = {"thread": Field.THREAD, "run": Field.RUN, "trace": Field.TRACE}


def configure_label(actions: Actions) -> None:
    """Add the sub-command `label`."""
    parser = actions.add_parser("label", help="add labels to records, or remove labels from them")
    _add_selection(parser, tuple(_ROWS))
    for name, does in (("add", "add"), ("remove", "remove")):
        parser.add_argument(
            f"--{name}", action="append", default=[], metavar="LABEL", help=f"{does} this label"
        )


def label_traces(options: argparse.Namespace) -> int:
    """Change the labels of the selected records, and return the exit status."""
    from treadle.traces.selection import label_selection, trace_ids

    add, remove = ([label.strip() for label in each] for each in (options.add, options.remove))
    labels = [*add, *remove]
    if not labels or not all(labels):
        raise UsageError("No label is given.", hint="Pass --add LABEL or --remove LABEL.")
    if reserved := set(labels) - {*editable_labels(labels)}:
        raise UsageError(f"Treadle sets the label {min(reserved)!r} itself.")
    now_us = time.time_ns() // 1_000
    with closing(Stores.of_user().open_traces()) as store:
        selection = _selection(store, options)
        if options.what == "trace":
            found = trace_ids(store, selection)
            changed = store.label(traces=found, add=add, remove=remove, at_us=now_us)
        else:
            changed = label_selection(store, selection, add=add, remove=remove, now_us=now_us).spans
    if options.json:
        print_json({"spans": changed})
    else:
        print_text(f"The labels of {changed:,} spans changed.")
    return 0


def configure_delete(actions: Actions) -> None:
    """Add the sub-command `delete`."""
    parser = actions.add_parser("delete", help="permanently delete threads, runs or traces")
    _add_selection(parser, tuple(_FIELDS))
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")


def delete_traces(options: argparse.Namespace) -> int:
    """Delete threads, runs or traces after a confirmation, and return the exit status."""
    from treadle.traces.selection import count_selection, deletion_of

    with closing(Stores.of_user().open_traces()) as store:
        selection = _selection(store, options)
        deletion = deletion_of(store, selection)  # rows that arrive during the question stay
        counted = count_selection(store, selection)
        number = counted.rows if counted.traces is None else counted.traces
        if not number and options.query is None:
            raise NotFoundError(
                f"Nothing is recorded for the {options.what} {', '.join(options.ids)}.",
                hint="`treadle traces list --json` shows full ids.",
            )
        least = "" if counted.complete else "more than "
        noun = options.what if number == 1 else f"{options.what}s"
        question = f"Permanently delete {least}{number:,} {noun} with {counted.spans:,} spans?"
        if number and not options.yes and not _is_confirmed(question):
            return ExitStatus.CANCELLED
        gone = deletion.apply(store)
    chosen = ", ".join(options.ids) if options.query is None else options.query
    if gone.spans:
        record(Action.DELETION, f"traces delete {options.what}: {chosen}")
    if options.json:
        print_json(to_json(gone))
    else:
        print_text(
            f"Deleted {gone.spans:,} spans of {gone.traces:,} traces ({shown_size(gone.bytes)})."
        )
    return 0


def _add_selection(parser: argparse.ArgumentParser, what: tuple[str, ...]) -> None:
    set_repository_use(parser, RepositoryUse.NONE)
    parser.add_argument("what", choices=what, help="the kind of the records")
    parser.add_argument("ids", nargs="*", metavar="ID", help="a whole id; of a span: TRACE/SPAN")
    parser.add_argument(
        "--query", metavar="QUERY", help="all records that match the query, instead of ids"
    )


def _selection(store: "TraceStore", options: argparse.Namespace) -> "Selection":
    """Return the selected rows. Traces are selected by their spans."""
    from treadle.traces.selection import Selection

    if bool(options.ids) == (options.query is not None):
        raise UsageError(
            "Either ids or a query select the records.",
            hint=f"Pass ids of a {options.what}, or --query QUERY.",
        )
    rows = _ROWS[options.what]
    if options.query is not None:
        if not options.query.strip():
            raise UsageError(
                "The query is empty.", hint="To select all records, pass --query 'name:*'."
            )
        query = parse_query(options.query, now_us=time.time_ns() // 1_000)
        return Selection(rows, query=store.whole_trace_ids(query))
    if options.what == "trace":
        return Selection(rows, query=Query((any_of(Field.TRACE, options.ids),)))
    if options.what == "span" and not all(map(span_ids, options.ids)):
        raise UsageError("The id of a span is TRACE/SPAN.")
    return Selection(rows, tuple(options.ids))


def _is_confirmed(question: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError(
            "Deleting needs confirmation, and standard input is not a terminal.",
            hint="Confirm with --yes.",
        )
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
