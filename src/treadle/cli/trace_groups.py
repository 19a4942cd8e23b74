"""The command `treadle traces groups`: the sums of spans by model, user, time and other fields."""

import argparse
from contextlib import closing
from typing import NamedTuple

from treadle.app.stores import open_trace_store
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
from treadle.json_values import to_json
from treadle.traces.amounts import total_cost
from treadle.traces.list_export import all_groups
from treadle.traces.query import GroupBy, Grouping, GroupSort, read_grouping
from treadle.traces.store.queries.groups import HOUR_SECONDS
from treadle.traces.store.results import Group

_HEADERS = ("SPANS", "CALLS", "ERRORS", "INPUT", "OUTPUT", "COST", "GROUP")
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
    add_limit(parser)
    add_list_export(parser)


def show_groups(options: argparse.Namespace) -> int:
    """Print the groups of the matching spans, and return the exit status."""
    query = listed_query(options)
    by, bucket_seconds = options.by
    bucket_seconds = options.bucket or bucket_seconds
    with closing(open_trace_store()) as store:
        if options.export is not None:
            groups = all_groups(store, by, query, bucket_seconds, options.sort)
            return write_list(options, groups)
        page = store.groups(
            by,
            query,
            sort=options.sort,
            bucket_seconds=bucket_seconds,
            limit=options.limit or PAGE_SIZE,
        )
    if options.json:
        print_json(to_json(page))
    elif page.data:
        print_text(fitted_table([_row(group) for group in page.data], _HEADERS))
        total = page.pagination.total
        if total is not None and total > len(page.data):
            report(f"{len(page.data)} of {total} groups shown; --limit shows more.")
    else:
        report("No recorded span matches.")
    return 0


def _grouped_by(text: str) -> _GroupedBy:
    if text in _PERIODS:
        return _GroupedBy(GroupBy.TIME, _PERIODS[text])
    try:
        return _GroupedBy(read_grouping(text))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a grouping. Write one of {_NAMES}, or metadata.KEY"
        ) from None


def _row(group: Group) -> tuple[str, ...]:
    totals = group.sums.totals
    value = group.value if isinstance(group.value, str) else when(group.value)
    return (
        f"{totals.spans:,}",
        f"{totals.model_calls:,}",
        f"{group.sums.faults:,}",
        _tokens(totals.tokens.input),
        _tokens(totals.tokens.output),
        total_cost(totals, unknown=UNKNOWN),
        value or _NO_VALUE,
    )


def _tokens(number: int | None) -> str:
    return UNKNOWN if number is None else f"{number:,}"
