"""The command `treadle index`: updates the code index, once or whenever files change."""

import argparse
from pathlib import Path

from treadle.app.code_index import open_index
from treadle.cli.command import Command, repository
from treadle.cli.output import print_json, print_line, print_text, report
from treadle.cli.progress import IndexBar
from treadle.code import CodeIndex, FileReading, Reading, RefreshReport
from treadle.errors import UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the folder and the options to the parser."""
    parser.add_argument(
        "path", nargs="?", type=Path, metavar="PATH", help="the repository (the same as --repo)"
    )
    parser.add_argument(
        "--watch", action="store_true", help="keep running, and refresh the index at every change"
    )
    parser.add_argument(
        "--report",
        action="store_true",
        help="count the files by how they were parsed, and list those without code structure",
    )


def run(options: argparse.Namespace) -> int:
    """Update the index, print the numbers of files and items, and return the exit status."""
    if options.path is not None and options.repo is not None:
        raise UsageError("The repository is given twice.", hint="Pass PATH or --repo, not both.")
    options.repo = options.repo or options.path
    root = repository(options)
    index = open_index(root)
    try:
        _refresh(index, options)
        if options.watch:
            _watch(index, root, options)
    finally:
        index.close()
    return 0


def _watch(index: CodeIndex, root: Path, options: argparse.Namespace) -> None:
    from watchfiles import watch

    report(f"Watching {root}; Ctrl-C stops it.")
    for _changes in watch(root, raise_interrupt=True):
        _refresh(index, options)


def _refresh(index: CodeIndex, options: argparse.Namespace) -> None:
    with IndexBar(quiet=options.json) as bar:
        done = index.refresh(bar)
        index.complete_history()
    if options.json:
        print_json(_as_json(index, done, with_skipped=options.report))
        return
    status = index.status()
    print_text(
        f"{status.files:,} files, {status.items:,} items: {done.added} new, {done.changed} "
        f"changed, {done.removed} removed, {len(done.skipped)} skipped ({done.seconds:.2f} s)."
    )
    if options.report:
        _print_readings(index.readings(), done)


def _print_readings(readings: tuple[FileReading, ...], done: RefreshReport) -> None:
    """Print how many files were read in each way, and list the files without code structure."""
    for kind in Reading:
        if kind is Reading.SKIPPED:
            files = [f"{path}: {reason}" for path, reason in done.skipped.items()]
        else:
            files = [file.path for file in readings if file.reading is kind]
        print_text(f"{kind.value}: {len(files):,}")
        if kind is not Reading.PARSED:
            for file in files:
                print_line(f"  {file}")


def _as_json(index: CodeIndex, done: RefreshReport, *, with_skipped: bool) -> dict[str, object]:
    status = index.status()
    summary: dict[str, object] = {
        "files": status.files,
        "items": status.items,
        "fresh": status.fresh,
        "added": done.added,
        "changed": done.changed,
        "removed": done.removed,
        "left_out": len(done.skipped),
        "seconds": round(done.seconds, 3),
    }
    if with_skipped:
        summary["skipped"] = [
            {"path": path, "reason": reason} for path, reason in done.skipped.items()
        ]
        readings = index.readings()
        summary["read"] = {
            kind.value: [file.path for file in readings if file.reading is kind]
            for kind in (Reading.PARSED, Reading.ERRORS, Reading.LINES)
        }
    return summary


COMMAND = Command("Build or refresh the code index of a repository.", configure, run)
