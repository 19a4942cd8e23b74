"""What the sub-commands of `treadle experiment` share: opening, progress, figures for people."""

import argparse
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from treadle.cli.command import repository
from treadle.cli.output import tell
from treadle.errors import StoreError

if TYPE_CHECKING:
    from treadle.experiments.running import Progress
    from treadle.experiments.service import Experiments
    from treadle.experiments.statistics import Difference

UNKNOWN = "-"


@asynccontextmanager
async def opened(options: argparse.Namespace) -> AsyncIterator["Experiments"]:
    """The experiments of the user, run with the settings of this repository."""
    from treadle.app.experimenting import experimenting
    from treadle.app.recording import recording
    from treadle.config.loader import load
    from treadle.events import EventBus

    root = repository(options)
    settings = load(root, os.environ, {}).settings
    bus = EventBus()
    async with recording(bus, settings.traces.redaction, root) as recorded:
        if recorded.store is None:
            raise StoreError(recorded.missing or "There are no traces.")
        async with experimenting(recorded.store, recorded, settings, os.environ, bus) as trying:
            yield trying.experiments


class ProgressLine:
    """Says on standard error how far a batch is: on one line of a terminal, else line by line."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._shown = -1

    def __call__(self, progress: "Progress") -> None:
        if progress.done == self._shown:
            return
        self._shown = progress.done
        failed = f", {progress.failed} failed" if progress.failed else ""
        cost = "" if progress.cost is None else f", ${progress.cost:.4f}"
        text = f"{progress.done} of {progress.total} runs{failed}, {progress.tokens:,} tokens{cost}"
        if self._live:
            end = "\n" if progress.done == progress.total else ""
            print(f"\r\x1b[K{text}", end=end, file=sys.stderr, flush=True)
        else:
            tell(text)


def shown_difference(found: "Difference", scale: float = 1, form: str = ",.0f") -> str:
    """`62 → 36 (-42 %, -26 [-30, -22], n = 5)`; the interval where there is one.

    Without a pair it is what each side knows: `62 → -`.
    """
    if found.base is None and found.new is None:
        return UNKNOWN
    base, new = (
        UNKNOWN if each is None else format(each / scale, form) for each in (found.base, found.new)
    )
    if found.mean is None:
        return f"{base} → {new}"
    percent = "" if found.percent is None else f"{found.percent:+.1f} %, "
    mean = format(found.mean / scale, f"+{form}")
    interval = ""
    if found.low is not None and found.high is not None:
        low, high = (format(each / scale, f"+{form}") for each in (found.low, found.high))
        interval = f" [{low}, {high}]"
    return f"{base} → {new} ({percent}{mean}{interval}, n = {found.n})"
