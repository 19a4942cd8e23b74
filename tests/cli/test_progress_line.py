"""The line that shows the progress of a batch of runs."""

import io
from typing import Any

import pytest

from treadle.cli.experiment_batches import ProgressLine
from treadle.experiments.model import Progress


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_line_ends_when_a_batch_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with ProgressLine() as show:
        show(progress(done=1, total=2))
    assert terminal.getvalue().endswith("1 of 2 runs, 5 tokens\n")


def test_nothing_is_printed_without_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with ProgressLine():
        pass
    assert not terminal.getvalue()


def progress(**values: Any) -> Progress:
    return Progress(**{"failed": 0, "tokens": 5, "cost": None, "seconds": 1.0, **values})
