"""Parses queries and options of commands that list spans, and formats tables of their results."""

import argparse
import re
import sys
import time
from collections.abc import Container, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.app.local_audit import record
from treadle.app.stores import Stores
from treadle.cli.command import (
    RepositoryUse,
    member_of,
    positive,
    repository,
    set_repository_use,
    terminal_width,
)
from treadle.cli.output import report, table
from treadle.display.lines import one_line
from treadle.identity.records import Action
from treadle.owner_only import open_output
from treadle.traces.list_export import ExportedList, ListFormat, encoded
from treadle.traces.own_spans import without_own
from treadle.traces.query import NEWEST, Query, Sort, SortKey, format_query, parse_query
from treadle.traces.query.conditions import Condition, Field, Operator

_ORDERS = ("newest", "oldest", *(key.value for key in SortKey if key is not SortKey.TIME))
_SYNTAX = re.compile(r'"|[A-Za-z_]+[:=<>]')
_NARROWEST = 20
PAGE_SIZE = 20
"""The maximum number of results in a list if `--limit` is not given."""
_LONGEST = 120
_INDENT = "  "

UNKNOWN = "-"
"""The text of a table cell whose value is unknown."""

if TYPE_CHECKING:
    Actions = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001  (no public name)
else:
    Actions = argparse.Action


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add the option for the file that an export writes."""
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="-",
        help="the output file (default: -, standard output)",
    )


def add_query(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    """Add the words of a query. `--repo` limits the query to the records of one repository."""
    set_repository_use(parser, RepositoryUse.RECORDS)
    parser.add_argument(
        "query",
        nargs="+" if required else "*",
        metavar="QUERY",
        help=(
            "a query, such as: status:error model:gpt* since:2h 'not found' (see "
            "docs/trace-queries.md)"
        ),
    )


def add_page(parser: argparse.ArgumentParser) -> None:
    """Add the options for the page and the order of a list."""
    add_limit(parser)
    parser.add_argument(
        "--cursor", metavar="CURSOR", help="continue after the page that returned this cursor"
    )
    parser.add_argument(
        "--sort",
        choices=_ORDERS,
        default="newest",
        help="sort by newest, oldest or largest (default: newest)",
    )
    parser.add_argument("--reverse", action="store_true", help="reverse the order")


def add_limit(parser: argparse.ArgumentParser) -> None:
    """Add the option for the maximum number of results. Its default is None."""
    parser.add_argument(
        "--limit",
        type=positive,
        metavar="N",
        help=f"the maximum number of results (default: {PAGE_SIZE}; with --export: all)",
    )


def add_list_export(parser: argparse.ArgumentParser) -> None:
    """Add the options that export a whole list."""
    parser.add_argument(
        "--export",
        type=member_of(ListFormat),
        choices=list(ListFormat),
        metavar="FORMAT",
        help="write all rows as csv or jsonl",
    )
    add_output(parser)


def write_list(options: argparse.Namespace, exported: ExportedList) -> int:
    """Write the list in the chosen format to the chosen output, and return the exit status."""
    write_output(options, encoded(exported.limited(options.limit), options.export))
    record(Action.EXPORT, f"traces {options.action} --export {options.export}")
    return 0


def write_output(options: argparse.Namespace, parts: Iterable[bytes]) -> None:
    """Write the parts to the file of the option `--output`, or to standard output."""
    if options.output == "-":
        sys.stdout.buffer.writelines(parts)
        sys.stdout.buffer.flush()
        return
    with open_output(Path(options.output)) as file:
        file.writelines(parts)
    report(f"Wrote {options.output}.")


def listed_query(options: argparse.Namespace) -> Query:
    """Build a query as `typed_query` does, and exclude Treadle's own model calls.

    These calls are included only if the words of the query ask for them.
    """
    return without_own(typed_query(options))


def typed_query(options: argparse.Namespace) -> Query:
    """Build a query from the words of the command line and from `--repo`.

    A word that contains spaces is a phrase. The id of a trace may be abbreviated. Raises
    QuerySyntaxError, and UsageError if several traces match an abbreviated id or if `--repo` is not
    a folder.
    """
    words: Sequence[str] = options.query
    query = parse_query(" ".join(map(_term, words)), now_us=time.time_ns() // 1_000)
    if query.of(Field.TRACE):
        with closing(Stores.of_user().open_traces()) as store:
            query = store.whole_trace_ids(query)
    if options.repo is None:
        return query
    from treadle.app.repository_scope import records_of

    return query & records_of(repository(options))


def chosen_sort(options: argparse.Namespace) -> Sort:
    """Return the order that the options select."""
    sort = (
        NEWEST
        if options.sort == "newest"
        else Sort(ascending=True)
        if options.sort == "oldest"
        else Sort(SortKey(options.sort))
    )
    return Sort(sort.key, not sort.ascending) if options.reverse else sort


def fitted_table(
    rows: Sequence[tuple[str, ...]],
    headers: tuple[str, ...],
    *,
    indented: Container[int] = (),
) -> str:
    """Format a table, and cut the last column so that the rows fit the width of the terminal.

    `indented` are the positions of rows whose last column is indented.
    """
    width = terminal_width()
    room = _LONGEST
    if width is not None:
        fixed = [max(map(len, column)) for column in list(zip(headers, *rows, strict=True))[:-1]]
        room = max(_NARROWEST, width - sum(fixed) - 2 * len(fixed))
    fitted = []
    for at, row in enumerate(rows):
        indent = _INDENT if at in indented else ""
        fitted.append((*row[:-1], indent + one_line(row[-1], room - len(indent))))
    return table(fitted, headers)


def _term(word: str) -> str:
    if re.search(r"\s", word) and not _SYNTAX.search(word):
        return format_query(Query((Condition(Field.TEXT, Operator.CONTAINS, (word,)),)))
    return word
