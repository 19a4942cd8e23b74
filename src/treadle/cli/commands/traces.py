"""The command `treadle traces`: shows, imports, exports, labels and deletes recorded traces."""

import argparse
import os
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from treadle.app.stores import Stores
from treadle.cli.command import Command, RepositoryUse, positive, repository, set_repository_use
from treadle.cli.output import print_json, print_line, print_text, report, table
from treadle.cli.trace_comparison import configure_compare, show_comparison
from treadle.cli.trace_groups import configure_groups, show_groups
from treadle.cli.trace_maintenance import (
    configure_export,
    configure_import,
    configure_prune,
    configure_redact_preview,
    export_spans,
    import_spans,
    preview_rules,
    prune_traces,
)
from treadle.cli.trace_queries import (
    PAGE_SIZE,
    UNKNOWN,
    Actions,
    add_list_export,
    add_page,
    add_query,
    chosen_sort,
    fitted_table,
    listed_query,
    typed_query,
    write_list,
)
from treadle.cli.trace_selections import (
    configure_delete,
    configure_label,
    delete_traces,
    label_traces,
)
from treadle.clock import when
from treadle.display.lines import one_line, short_id
from treadle.display.trace_tree import describe, trace_lines, trace_to_json, view_trace
from treadle.json_values import to_json
from treadle.traces.amounts import cost, duration, total_cost
from treadle.traces.list_export import all_runs, all_spans, all_threads
from treadle.traces.own_spans import without_own
from treadle.traces.query import Field, Page, Query, any_of
from treadle.traces.store.percentiles import Percentiles
from treadle.traces.store.results import (
    Hit,
    ListedError,
    ListedSpan,
    RunSummary,
    Sums,
    ThreadSummary,
)
from treadle.traces.store.span_reader import NO_TRACES
from treadle.traces.store.summary import Summary

if TYPE_CHECKING:
    from treadle.diagnosis.detectors import Finding, Rule
    from treadle.traces import TraceStore


T = TypeVar("T")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the sub-commands to the parser."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for action in _ACTIONS.values():
        action.configure(actions)


def run(options: argparse.Namespace) -> int:
    """Run the chosen sub-command, and return the exit status."""
    return _ACTIONS[options.action].run(options)


def _add_list(actions: Actions) -> None:
    parser = actions.add_parser("list", help="list the latest runs, or those that match a query")
    add_query(parser)
    add_page(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--spans", action="store_true", help="list spans instead of runs")
    what.add_argument("--threads", action="store_true", help="list threads instead of runs")
    add_list_export(parser)


def _list(options: argparse.Namespace) -> int:
    query, sort = listed_query(options), chosen_sort(options)
    limit, cursor = options.limit or PAGE_SIZE, options.cursor
    with closing(Stores.of_user().open_traces()) as store:
        if options.export is not None:
            every = all_spans if options.spans else all_threads if options.threads else all_runs
            return write_list(options, every(store, query, sort, cursor))
        if options.spans:
            spans = store.spans(query, sort=sort, limit=limit, cursor=cursor)
            return _print_page(spans, _SPANS, [_span_row(s) for s in spans.data], options)
        if options.threads:
            threads = store.threads(query, sort=sort, limit=limit, cursor=cursor)
            rows = [_thread_row(thread) for thread in threads.data]
            return _print_page(threads, _THREADS, rows, options)
        runs = store.runs(query, sort=sort, limit=limit, cursor=cursor)
        return _print_page(runs, _RUNS, [_run_row(each) for each in runs.data], options)


def _print_page(
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


_QUESTION_BEFORE_ERROR = 40
"""The maximum number of characters of a question that is followed by an error."""

_RUNS = ("TRACE", "STARTED", "STATUS", "TOOK", "SPANS", "TOKENS", "COST", "QUESTION")
_THREADS = ("THREAD", "LAST", "RUNS", "SPANS", "TOKENS", "COST", "QUESTION")
_SPANS = ("TRACE", "STARTED", "STATUS", "TOOK", "TOKENS", "COST", "SPAN")


def _run_row(run: RunSummary) -> tuple[str, ...]:
    return (
        short_id(run.trace_id),
        when(run.start_us),
        run.status.value,
        duration(run.duration_us),
        *_sums_cells(run.sums),
        _with_error(_subject(run.name, run.question), run.error),
    )


def _thread_row(thread: ThreadSummary) -> tuple[str, ...]:
    return (
        thread.thread_id,
        when(thread.last_us),
        str(thread.runs),
        *_sums_cells(thread.sums),
        _with_error(_subject("", thread.title), thread.error),
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


def _with_error(subject: str, error: ListedError | None) -> str:
    """Return the subject of a row. If there is an error, shorten the subject and add the error."""
    if error is None:
        return subject
    reason = ": ".join(filter(None, (error.error_type, error.message)))
    text = f"{reason} ({error.name})" if reason else error.name
    return f"{one_line(subject, _QUESTION_BEFORE_ERROR)}  ✗ {text}"


def _sums_cells(sums: Sums) -> tuple[str, str, str]:
    totals = sums.totals
    used = [each for each in (totals.tokens.input, totals.tokens.output) if each is not None]
    return (
        str(totals.spans),
        f"{sum(used):,}" if used else UNKNOWN,
        total_cost(totals, unknown=UNKNOWN),
    )


def _subject(name: str, question: str | None) -> str:
    """Return the question of a run.

    For a tool that was called outside a session, return the name and the arguments of the tool.
    """
    operation, _, subject = name.partition(" ")
    if operation == "execute_tool":
        return f"{subject} {question or ''}"
    return question or name


_LONGEST = 400


def _add_search(actions: Actions) -> None:
    parser = actions.add_parser("search", help="find the spans that contain a text")
    add_query(parser, required=True)
    add_page(parser)


def _search(options: argparse.Namespace) -> int:
    query, sort = listed_query(options), chosen_sort(options)
    with closing(Stores.of_user().open_traces()) as store:
        limit = options.limit or PAGE_SIZE
        page = store.search(query, sort=sort, limit=limit, cursor=options.cursor)
    if options.json:
        print_json(to_json(page))
        return 0
    for hit in page.data:
        _print_hit(hit)
    if not page.data:
        report("No recorded span contains the text.")
    elif page.pagination.next_cursor:
        report(f"{len(page.data)} shown; next page: --cursor {page.pagination.next_cursor}")
    return 0


def _print_hit(hit: Hit) -> None:
    span = hit.span
    print_text(
        f"{short_id(span.trace_id)}  {when(span.start_us)}  {one_line(span.name)}  {hit.field}:"
    )
    print_text(f"  {one_line(_marked(hit), _LONGEST)}")


def _marked(hit: Hit) -> str:
    """Return the excerpt of a search result, with markers around the matches."""
    pieces, place = [], 0
    for start, end in hit.ranges:
        pieces += [hit.excerpt[place:start], "»", hit.excerpt[start:end], "«"]
        place = end
    return "".join([*pieces, hit.excerpt[place:]])


def _add_summary(actions: Actions) -> None:
    parser = actions.add_parser(
        "summary", help="show counts, cost, latency and the worst spans of a set"
    )
    add_query(parser)
    parser.add_argument("--thread", metavar="ID", help="spans of this thread")
    parser.add_argument("--run", metavar="ID", help="spans of this run", dest="run_id")


def _summarize(options: argparse.Namespace) -> int:
    query = typed_query(options)
    for field, given in ((Field.THREAD, options.thread), (Field.RUN, options.run_id)):
        if given is not None:
            query &= Query((any_of(field, [given]),))
    query = without_own(query)
    with closing(Stores.of_user().open_traces()) as store:
        summary = store.summary(query)
    if options.json:
        print_json(to_json(summary))
    elif not summary.sums.totals.spans:
        report("No recorded span matches.")
    else:
        print_text("\n".join(_summary_lines(summary)))
    return 0


def _summary_lines(summary: Summary) -> Iterator[str]:
    totals = summary.sums.totals
    yield f"{totals.spans:,} spans: {describe(totals)}, {_errors(summary.sums)}"
    yield f"{duration(summary.wall_us)} from first to last, {duration(summary.sums.busy_us)} busy"
    yield f"status: {_count_list(summary.by_status)}"
    yield f"operations: {_count_list(summary.by_operation)}"
    if summary.labels:
        yield f"labels: {_count_list([(label.name, label.count) for label in summary.labels])}"
    yield ""
    rows = [("all spans", str(totals.spans), "", *_latency_cells(summary.latency), UNKNOWN)]
    first = summary.time_to_first_token
    if first.n:
        rows.append(("first token", str(first.n), "", *_latency_cells(first), UNKNOWN))
    for model in summary.models:
        sums = model.sums.totals
        spent = total_cost(sums, unknown=UNKNOWN)
        called = (one_line(model.name, 40), str(sums.model_calls), str(sums.failed))
        rows.append((*called, *_latency_cells(model.latency), spent))
    rows += [
        (
            one_line(tool.name, 40),
            str(tool.calls),
            str(tool.failed),
            *_latency_cells(tool.latency),
            "",
        )
        for tool in summary.tools
    ]
    yield table(rows, ("", "COUNT", "FAILED", "P50", "P95", "P99", "MAX", "COST"))
    yield from _span_lines("failed", summary.errors)
    yield from _span_lines("slowest", summary.slowest)
    yield from _span_lines("most expensive", summary.most_expensive)


def _errors(sums: Sums) -> str:
    return "1 error" if sums.faults == 1 else f"{sums.faults:,} errors"


def _span_lines(title: str, spans: Sequence[ListedSpan]) -> Iterator[str]:
    if not spans:
        return
    yield ""
    yield f"{title}:"
    for span in spans:
        spent = "" if span.cost is None else f"  {cost(span.cost)}"
        what = one_line(f"{span.name}  {span.error or ''}")
        yield f"  {short_id(span.trace_id)}  {duration(span.duration_us):>10}{spent}  {what}"


def _count_list(counts: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{one_line(name, 40)} {count:,}" for name, count in counts)


def _latency_cells(latency: Percentiles) -> tuple[str, str, str, str]:
    return (
        duration(latency.p50_us),
        duration(latency.p95_us),
        duration(latency.p99_us),
        duration(latency.max_us),
    )


def _add_show(actions: Actions) -> None:
    parser = actions.add_parser("show", help="show a trace as a tree")
    set_repository_use(parser, RepositoryUse.NONE)
    parser.add_argument("trace", help="the trace: LAST, its id, or a prefix of its id")


def _show(options: argparse.Namespace) -> int:
    with closing(Stores.of_user().open_traces()) as store:
        trace = store.trace(options.trace)
    if options.json:
        print_json(trace_to_json(trace))
    else:
        for line in trace_lines(view_trace(trace)):
            print_text(line)
    return 0


_MAX_FINDINGS = 50
_AT_ONCE = 5_000
_QUOTED = 160


def _add_faults(actions: Actions) -> None:
    parser = actions.add_parser("faults", help="list faults, including those that no status shows")
    add_query(parser)
    parser.add_argument(
        "--limit",
        type=positive,
        default=_MAX_FINDINGS,
        metavar="N",
        help=f"the maximum number of findings, worst first (default: {_MAX_FINDINGS})",
    )


def _list_faults(options: argparse.Namespace) -> int:
    """Print the findings with their positions, most severe first."""
    from treadle.app.background_examination import rules_of
    from treadle.config.loader import load
    from treadle.diagnosis.detectors import Severity
    from treadle.diagnosis.findings import findings

    query = listed_query(options)
    settings = load(repository(options), os.environ, {}).settings.traces.detectors
    with closing(Stores.of_user().open_traces()) as store:
        _examine_all(store, rules_of(settings))
        found = findings(store, query, rules=rules_of(settings), limit=options.limit)
    worst_first = list(Severity)
    worst = sorted(found.data, key=lambda finding: worst_first.index(finding.severity))
    if options.json:
        counts = {
            name: getattr(found, name) for name in ("snapshot", "spans", "unexamined", "total")
        }
        print_json({**counts, "findings": [to_json(finding) for finding in worst]})
        return 0
    for group in _equal_failures(worst):
        _print_findings(group)
    shown = f"; the worst {len(worst)} are shown" if len(worst) < found.total else ""
    report(f"{found.total:,} findings in {found.spans:,} spans{shown}.")
    if found.unexamined:
        report(f"{found.unexamined:,} new spans are not examined yet. Run the command again.")
    return 0


def _examine_all(store: "TraceStore", rules: "tuple[Rule, ...]") -> None:
    """Examine all spans that were not examined yet. The store keeps the results."""
    done = 0
    from treadle.diagnosis.findings import examiners

    while (number := store.examine(examiners(rules), most=_AT_ONCE)) == _AT_ONCE:
        done += number
        report(f"{done:,} spans examined for the first time so far.")


def _equal_failures(findings: Sequence["Finding"]) -> list[list["Finding"]]:
    """Group the errors with the same text in one trace. Every other finding is a separate group.

    The order of the groups is that of their first findings. An exception often passes from a tool
    through its agent to the run. The innermost of these spans starts last, so each group is
    reversed to begin with it.
    """
    from treadle.diagnosis.detectors import Kind

    groups: dict[Hashable, list[Finding]] = {}
    for number, finding in enumerate(findings):
        passes = finding.kind in {Kind.STATUS, Kind.EXCEPTION}
        trace_id, quote = finding.evidence.span.trace_id, finding.evidence.quote
        groups.setdefault((trace_id, quote) if passes else number, []).insert(0, finding)
    return list(groups.values())


def _print_findings(group: Sequence["Finding"]) -> None:
    finding = group[0]
    place = finding.evidence
    others = len(group) - 1
    spans = "1 other span" if others == 1 else f"{others} other spans"
    also = f" Also the error of {spans} of this trace." if others else ""
    also += f" It is {finding.repeats}." if finding.repeats else ""
    print_text(f"{finding.severity.value:6}  {one_line(finding.message)}{also}")
    print_line(f"        {short_id(place.span.trace_id)} {place.span.span_id} {place.field}")
    print_text(f"        “{one_line(place.quote, _QUOTED)}”")


class _Action(NamedTuple):
    configure: Callable[[Actions], None]
    run: Callable[[argparse.Namespace], int]


_ACTIONS = {
    "list": _Action(_add_list, _list),
    "search": _Action(_add_search, _search),
    "summary": _Action(_add_summary, _summarize),
    "groups": _Action(configure_groups, show_groups),
    "show": _Action(_add_show, _show),
    "compare": _Action(configure_compare, show_comparison),
    "faults": _Action(_add_faults, _list_faults),
    "export": _Action(configure_export, export_spans),
    "import": _Action(configure_import, import_spans),
    "prune": _Action(configure_prune, prune_traces),
    "label": _Action(configure_label, label_traces),
    "delete": _Action(configure_delete, delete_traces),
    "redact-preview": _Action(configure_redact_preview, preview_rules),
}

COMMAND = Command("Read, import, export and delete recorded traces.", configure, run)
