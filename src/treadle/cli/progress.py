"""Shows the progress of the first build of an index, and of a copy, on standard error."""

import sys
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

QUICK = 25
"""The number of changed files up to which no progress is shown, since a bar would only flicker."""


class IndexBar:
    """Shows the progress of an index build.

    It is a context manager. Within the context, call it with the number of processed files and the
    total number of files.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        return self

    def __call__(self, done: int, total: int) -> None:
        if self._quiet or total <= QUICK:
            return
        if self._bar is None:
            self._start(total)
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done)
        if done >= total:
            self._stop()

    def _start(self, total: int) -> None:
        if not sys.stderr.isatty():
            print(f"Indexing {total:,} files …", file=sys.stderr, flush=True)
            self._quiet = True
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self._bar = Progress(
            TextColumn("Indexing"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("files"),
            console=Console(stderr=True),
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task("index", total=total)

    def __exit__(self, *_: object) -> None:
        self._stop()

    def _stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()


class RowCounter:
    """Shows how many rows of a table have been copied.

    It is a context manager. Within the context, call it with the name of the table and the number
    of its copied rows.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._is_terminal = sys.stderr.isatty()
        self._table = ""

    def __enter__(self) -> Self:
        return self

    def __call__(self, table: str, rows: int) -> None:
        if self._quiet:
            return
        if self._is_terminal:
            print(f"\r\033[K{table}: {rows:,} rows", end="", file=sys.stderr, flush=True)
        elif table != self._table:
            print(f"Copying the table {table} …", file=sys.stderr, flush=True)
        self._table = table

    def __exit__(self, *_: object) -> None:
        if self._table and self._is_terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
