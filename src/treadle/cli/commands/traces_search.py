"""`treadle traces search`: the spans that hold a text, and where."""

import argparse
from contextlib import closing

from treadle.app.stores import open_trace_store
from treadle.cli.output import one_line, print_json, print_text, report, short_id, when
from treadle.cli.trace_queries import Actions, add_page, add_query, chosen_sort, listed_query
from treadle.json_values import to_json
from treadle.traces.store.results import Hit

_LONGEST = 400


def configure(actions: Actions) -> None:
    """Add the sub-command."""
    parser = actions.add_parser("search", help="find the spans that contain a text")
    add_query(parser, required=True)
    add_page(parser)


def run(options: argparse.Namespace) -> int:
    """Print the hits."""
    query, sort = listed_query(options), chosen_sort(options)
    with closing(open_trace_store()) as store:
        page = store.search(query, sort=sort, limit=options.limit, cursor=options.cursor)
    if options.json:
        print_json(to_json(page))
        return 0
    for hit in page.data:
        _show(hit)
    if not page.data:
        report("No recorded span contains the text.")
    elif page.pagination.next_cursor:
        report(f"{len(page.data)} shown; next page: --cursor {page.pagination.next_cursor}")
    return 0


def _show(hit: Hit) -> None:
    span = hit.span
    print_text(
        f"{short_id(span.trace_id)}  {when(span.start_us)}  {one_line(span.name)}  {hit.field}:"
    )
    print_text(f"  {one_line(_marked(hit), _LONGEST)}")


def _marked(hit: Hit) -> str:
    """The excerpt with what fits in the signs that mark it."""
    pieces, place = [], 0
    for start, end in hit.ranges:
        pieces += [hit.excerpt[place:start], "»", hit.excerpt[start:end], "«"]
        place = end
    return "".join([*pieces, hit.excerpt[place:]])
