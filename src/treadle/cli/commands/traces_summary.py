"""`treadle traces summary`: what a set of spans adds up to."""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import closing

from treadle.app.stores import open_trace_store
from treadle.cli.output import one_line, print_json, print_text, report, short_id, table
from treadle.cli.trace_lines import describe
from treadle.cli.trace_queries import UNKNOWN, Actions, add_query, typed_query
from treadle.json_values import to_json
from treadle.traces.amounts import cost, duration
from treadle.traces.own_spans import without_own
from treadle.traces.query import Field, Query, any_of
from treadle.traces.store.results import ListedSpan, Percentiles, Summary


def configure(actions: Actions) -> None:
    """Add the sub-command."""
    parser = actions.add_parser(
        "summary", help="show counts, cost, latency and the worst spans of a set"
    )
    add_query(parser)
    parser.add_argument("--thread", metavar="ID", help="spans of this thread")
    parser.add_argument("--run", metavar="ID", help="spans of this run", dest="run_id")


def run(options: argparse.Namespace) -> int:
    """Print the summary."""
    query = typed_query(options)
    for field, given in ((Field.THREAD, options.thread), (Field.RUN, options.run_id)):
        if given is not None:
            query &= Query((any_of(field, [given]),))
    query = without_own(query)
    with closing(open_trace_store()) as store:
        summary = store.summary(query)
    if options.json:
        print_json(to_json(summary))
    elif not summary.sums.totals.spans:
        report("No recorded span matches.")
    else:
        print_text("\n".join(_lines(summary)))
    return 0


def _lines(summary: Summary) -> Iterator[str]:
    totals = summary.sums.totals
    yield f"{totals.spans:,} spans: {describe(totals)}"
    yield f"{duration(summary.wall_us)} from first to last, {duration(summary.sums.busy_us)} busy"
    yield f"status: {_counts(summary.by_status)}"
    yield f"operations: {_counts(summary.by_operation)}"
    if summary.labels:
        yield f"labels: {_counts([(label.name, label.count) for label in summary.labels])}"
    yield ""
    rows = [("all spans", str(totals.spans), "", *_latency(summary.latency), UNKNOWN)]
    first = summary.time_to_first_token
    if first.n:
        rows.append(("first token", str(first.n), "", *_latency(first), UNKNOWN))
    for model in summary.models:
        sums = model.sums.totals
        spent = UNKNOWN if sums.cost is None else cost(sums.cost)
        called = (one_line(model.name, 40), str(sums.model_calls), str(sums.failed))
        rows.append((*called, *_latency(model.latency), spent))
    rows += [
        (one_line(tool.name, 40), str(tool.calls), str(tool.failed), *_latency(tool.latency), "")
        for tool in summary.tools
    ]
    yield table(rows, ("", "COUNT", "FAILED", "P50", "P95", "P99", "MAX", "COST"))
    yield from _spans("failed", summary.errors)
    yield from _spans("slowest", summary.slowest)
    yield from _spans("most expensive", summary.most_expensive)


def _spans(title: str, spans: Sequence[ListedSpan]) -> Iterator[str]:
    if not spans:
        return
    yield ""
    yield f"{title}:"
    for span in spans:
        spent = "" if span.cost is None else f"  {cost(span.cost)}"
        what = one_line(f"{span.name}  {span.error or ''}")
        yield f"  {short_id(span.trace_id)}  {duration(span.duration_us):>10}{spent}  {what}"


def _counts(counts: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{one_line(name, 40)} {count:,}" for name, count in counts)


def _latency(latency: Percentiles) -> tuple[str, str, str, str]:
    return (
        duration(latency.p50_us),
        duration(latency.p95_us),
        duration(latency.p99_us),
        duration(latency.max_us),
    )
