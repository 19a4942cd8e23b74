"""`treadle traces list`: the latest runs, threads or spans, or those that a query asks for."""

import argparse
from collections.abc import Sequence
from contextlib import closing
from typing import TypeVar

from treadle.app.stores import open_trace_store
from treadle.cli.output import print_json, print_text, report, short_id, when
from treadle.cli.trace_queries import (
    UNKNOWN,
    Actions,
    add_page,
    add_query,
    chosen_sort,
    fitted_table,
    listed_query,
)
from treadle.json_values import to_json
from treadle.traces.amounts import cost, duration
from treadle.traces.query import Page
from treadle.traces.store.results import ListedSpan, RunSummary, Sums, ThreadSummary
from treadle.traces.store.span_reader import NO_TRACES

T = TypeVar("T")


def configure(actions: Actions) -> None:
    """Add the sub-command."""
    parser = actions.add_parser("list", help="list the latest runs, or those that match a query")
    add_query(parser)
    add_page(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--spans", action="store_true", help="list spans instead of runs")
    what.add_argument("--threads", action="store_true", help="list threads instead of runs")


def run(options: argparse.Namespace) -> int:
    """Print the list."""
    query, sort = listed_query(options), chosen_sort(options)
    limit, cursor = options.limit, options.cursor
    with closing(open_trace_store()) as store:
        if options.spans:
            spans = store.spans(query, sort=sort, limit=limit, cursor=cursor)
            return _show(spans, _SPANS, [_span_row(s) for s in spans.data], options)
        if options.threads:
            threads = store.threads(query, sort=sort, limit=limit, cursor=cursor)
            rows = [_thread_row(thread) for thread in threads.data]
            return _show(threads, _THREADS, rows, options)
        runs = store.runs(query, sort=sort, limit=limit, cursor=cursor)
        return _show(runs, _RUNS, [_run_row(each) for each in runs.data], options)


def _show(
    page: Page[T],
    headers: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
    options: argparse.Namespace,
) -> int:
    if options.json:
        print_json(to_json(page))
    elif rows:
        print_text(fitted_table(rows, headers))
        if page.pagination.next_cursor:
            more = "" if page.pagination.total is None else f" of {page.pagination.total:,}"
            report(f"{len(rows)}{more} shown; next page: --cursor {page.pagination.next_cursor}")
    elif options.query or options.repo:
        report("No recorded trace matches.")
    else:
        report(f'{NO_TRACES} Record one with `treadle ask "…"`.')
    return 0


_RUNS = ("TRACE", "STARTED", "STATUS", "TOOK", "SPANS", "TOKENS", "COST", "QUESTION")
_THREADS = ("THREAD", "LAST", "RUNS", "SPANS", "TOKENS", "COST", "QUESTION")
_SPANS = ("TRACE", "STARTED", "STATUS", "TOOK", "TOKENS", "COST", "SPAN")


def _run_row(run: RunSummary) -> tuple[str, ...]:
    return (
        short_id(run.trace_id),
        when(run.start_us),
        run.status.value,
        duration(run.duration_us),
        *_figures(run.sums),
        _what(run.name, run.question),
    )


def _thread_row(thread: ThreadSummary) -> tuple[str, ...]:
    return (
        thread.thread_id,
        when(thread.last_us),
        str(thread.runs),
        *_figures(thread.sums),
        _what("", thread.title),
    )


def _span_row(span: ListedSpan) -> tuple[str, ...]:
    used = [each for each in (span.tokens.input, span.tokens.output) if each is not None]
    content = span.error or span.output_preview or span.input_preview or ""
    return (
        short_id(span.trace_id),
        when(span.start_us),
        span.status.value,
        duration(span.duration_us),
        f"{sum(used):,}" if used else UNKNOWN,
        UNKNOWN if span.cost is None else cost(span.cost),
        f"{span.name}  {content}",
    )


def _figures(sums: Sums) -> tuple[str, str, str]:
    totals = sums.totals
    used = [each for each in (totals.tokens.input, totals.tokens.output) if each is not None]
    return (
        str(totals.spans),
        f"{sum(used):,}" if used else UNKNOWN,
        UNKNOWN if totals.cost is None else cost(totals.cost),
    )


def _what(name: str, question: str | None) -> str:
    """The question; of a tool that was called outside a session, its name and arguments."""
    operation, _, subject = name.partition(" ")
    if operation == "execute_tool":
        return f"{subject} {question or ''}"
    return question or name
