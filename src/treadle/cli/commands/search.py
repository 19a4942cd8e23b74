"""The command `treadle search`: finds items or files for a query."""

import argparse
import gc
import os

from treadle.app.code_index import open_index
from treadle.cli.command import Command, positive, repository
from treadle.cli.output import print_json, print_line, report
from treadle.cli.progress import IndexBar
from treadle.code import View
from treadle.errors import UsageError
from treadle.json_values import to_json


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the query, the kind of results and their number to the parser."""
    parser.add_argument("query", help="a symbol, a path or a question")
    parser.add_argument(
        "--top-k", type=positive, default=10, metavar="N", help="the number of results"
    )
    parser.add_argument(
        "--view",
        choices=[view.value for view in View],
        default=View.ITEMS.value,
        help="what to rank: items or files",
    )


def run(options: argparse.Namespace) -> int:
    """Update the index, search it, print the results, and return the exit status."""
    if not options.query.strip():
        raise UsageError("The query is empty.", hint='Pass a query: `treadle search "…"`.')
    gc.disable()  # garbage collection took a tenth of the command's time and freed nothing
    # OpenBLAS gets only one thread, since starting more took a third of the import time of numpy.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    root = repository(options)
    index = open_index(root)
    try:
        with IndexBar(quiet=options.json) as bar:
            index.refresh(bar)
        results = index.search(options.query, top_k=options.top_k, view=View(options.view))
    finally:
        index.close()
    if options.json:
        print_json(to_json(results))
        return 0
    for hit in results.results:
        reason = f"  ({hit.reason})" if hit.reason else ""
        print_line(
            f"{hit.file}:{hit.start_line}-{hit.end_line}  {hit.kind} {hit.canonical_path}{reason}"
        )
    for note in results.notes:
        report(note)
    if not results.files:
        report(f"The index of {root} is empty; `treadle index --report` shows the reason.")
    elif not results.results:
        files = "1 file" if results.files == 1 else f"{results.files:,} files"
        report(f"Nothing in {files} matches {options.query!r}.")
    return 0


COMMAND = Command("Find code by symbol, path or meaning.", configure, run)
