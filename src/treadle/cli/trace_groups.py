"""The command `treadle traces groups`: the sums of spans by model, user, time and other fields."""

import argparse
from contextlib import closing
from typing import NamedTuple

from treadle.app.stores import Stores
from treadle.cli.command import member_of, positive
from treadle.cli.output import print_json, print_text, report
from treadle.cli.trace_queries import (
    PAGE_SIZE,
    UNKNOWN,
    Actions,
    add_limit,
    add_list_export,
    add_query,
    fitted_table,
    listed_query,
    write_list,
)
from treadle.clock import when
from treadle.errors import UsageError
from treadle.json_values import to_json
from treadle.traces.amounts import cost, duration, total_cost
from treadle.traces.list_export import all_groups
from treadle.traces.nested_groups import NestedGroup, Nesting, nested_groups
from treadle.traces.query import GroupBy, Grouping, GroupSort, Page, read_grouping
from treadle.traces.store.queries.group_rows import HOUR_SECONDS
from treadle.traces.store.results import DurationsOf, Group

_MEASURED = {DurationsOf.RUNS: "RUN", DurationsOf.CALLS: "CALL", DurationsOf.SPANS: "SPAN"}
_NO_VALUE = "(none)"
_PERIODS = {"hour": HOUR_SECONDS, "day": 24 * HOUR_SECONDS}
_NAMES = ", ".join((*GroupBy, *_PERIODS))


class _GroupedBy(NamedTuple):
    grouping: Grouping
    bucket_seconds: int = HOUR_SECONDS


def configure_groups(actions: Actions) -> None:
    """Add the sub-command `groups`."""
    parser = actions.add_parser(
        "groups", help="show spans, tokens and cost by model, user, metadata, time and so on"
    )
    parser.add_argument(
        "by",
        type=_grouped_by,
        metavar="BY",
        help=f"{_NAMES}, or a key of the metadata such as metadata.tenant",
    )
    add_query(parser)
    parser.epilog = (
        "If the first word of the query is a name of BY too, each group is divided by it:"
        " `groups model day`."
    )
    parser.add_argument(
        "--bucket",
        type=positive,
        metavar="SECONDS",
        help="the length of a group by time (default: 3600, or that of hour and day)",
    )
    parser.add_argument(
        "--sort",
        type=member_of(GroupSort),
        choices=list(GroupSort),
        help="sort by the largest value (default: spans; groups by time: the newest)",
    )
    parser.add_argument("--reverse", action="store_true", help="reverse the order")
    add_limit(parser)
    add_list_export(parser)


def show_groups(options: argparse.Namespace) -> int:
    """Print the groups of the matching spans, and return the exit status."""
    by, bucket_seconds = options.by
    if options.query and (second := _second_grouping(options.query[0])):
        del options.query[0]
        return _show_nested(options, second)
    query = listed_query(options)
    bucket_seconds = options.bucket or bucket_seconds
    with closing(Stores.of_user().open_traces()) as store:
        if options.export is not None:
            groups = all_groups(
                store, by, query, bucket_seconds, options.sort, ascending=options.reverse
            )
            return write_list(options, groups)
        page = store.groups(
            by,
            query,
            sort=options.sort,
            ascending=options.reverse,
            bucket_seconds=bucket_seconds,
            figures=True,
            limit=options.limit or PAGE_SIZE,
        )
    if options.json:
        print_json(to_json(page))
    elif page.data:
        rows = [_row(group) for group in page.data]
        print_text(fitted_table(rows, _headers(page.data[0])))
        _report_rest(page)
        if [group.value for group in page.data] == [""]:
            report(f"No matching span states a {by.value}.")
    else:
        report("No recorded span matches.")
    return 0


def _show_nested(options: argparse.Namespace, second: _GroupedBy) -> int:
    """Print the groups within groups of the matching spans, and return the exit status."""
    if options.export is not None:
        raise UsageError(
            "Groups within groups cannot be exported.", hint="Use --json, or group by one field."
        )
    by, length = options.by
    bucket = options.bucket or (second.bucket_seconds if by is not GroupBy.TIME else length)
    nesting = Nesting(by, second.grouping, bucket, options.sort, options.reverse)
    query = listed_query(options)
    with closing(Stores.of_user().open_traces()) as store:
        page = nested_groups(store, nesting, query, limit=options.limit or PAGE_SIZE)
    if options.json:
        print_json(to_json(page))
        return 0
    rows: list[tuple[str, ...]] = []
    inner: set[int] = set()
    for nested in page.data:
        rows.append(_row(nested.group))
        first = len(rows)
        rows += map(_row, nested.groups)
        if nested.total > len(nested.groups):
            rows.append((*[""] * (len(rows[0]) - 1), f"{nested.total - len(nested.groups)} more"))
        inner.update(range(first, len(rows)))
    if rows:
        print_text(fitted_table(rows, _headers(page.data[0].group), indented=inner))
        _report_rest(page)
    else:
        report("No recorded span matches.")
    return 0


def _report_rest(page: Page[Group] | Page[NestedGroup]) -> None:
    total = page.pagination.total
    if total is not None and total > len(page.data):
        report(f"{len(page.data)} of {total} groups shown; --limit shows more.")


def _second_grouping(word: str) -> _GroupedBy | None:
    try:
        return _grouped_by(word)
    except argparse.ArgumentTypeError:
        return None


def _grouped_by(text: str) -> _GroupedBy:
    if text in _PERIODS:
        return _GroupedBy(GroupBy.TIME, _PERIODS[text])
    try:
        return _GroupedBy(read_grouping(text))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a grouping. Write one of {_NAMES}, or metadata.KEY"
        ) from None


def _headers(group: Group) -> tuple[str, ...]:
    """Return the headers of a table. All its groups have durations of the same kind as `group`."""
    of = _MEASURED[group.duration_of or DurationsOf.RUNS]
    return (
        "RUNS", "FAILED", "SPANS", "CALLS", "ERRORS", "INPUT", "OUTPUT", "COST", "PER RUN",
        f"{of} P50", f"{of} P95", "GROUP",
    )  # fmt: skip


def _row(group: Group) -> tuple[str, ...]:
    totals = group.sums.totals
    value = group.value if isinstance(group.value, str) else when(group.value)
    runs, failed, durations = group.runs or 0, group.failed_runs or 0, group.duration
    rate = f" ({100 * failed / runs:.0f} %)" if failed and runs else ""
    return (
        f"{runs:,}",
        f"{failed:,}{rate}",
        f"{totals.spans:,}",
        f"{totals.model_calls:,}",
        f"{group.sums.faults:,}",
        _tokens(totals.tokens.input),
        _tokens(totals.tokens.output),
        total_cost(totals, unknown=UNKNOWN),
        UNKNOWN if group.cost_per_run is None else cost(group.cost_per_run),
        duration(durations.p50_us if durations else None),
        duration(durations.p95_us if durations else None),
        value or _NO_VALUE,
    )


def _tokens(number: int | None) -> str:
    return UNKNOWN if number is None else f"{number:,}"
