"""Unfinished spans of a program that was killed are marked as interrupted by the next program."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.spans.runs import span
from treadle.clock import SystemClock
from treadle.file_lock import lock_file, unlock_file
from treadle.spans.span import Span
from treadle.traces import TraceStore
from treadle.traces.interruptions import RECORDER, recorder_id
from treadle.traces.recorder_files import RecorderFiles


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """The file of a program that was killed. The system has released its lock."""
    path = tmp_path / "recorders" / "killed"
    path.parent.mkdir()
    path.touch()
    os.utime(path, (0, 0))  # the spans of this test are old
    return path


def states(store: TraceStore) -> Mapping[str, str]:
    return {each.span_id: each.status for each in store.spans().data}


def recorded_by(recorder: str, span_id: str) -> Span:
    return replace(span(span_id, end_us=None), resource={RECORDER: recorder})


async def test_only_spans_of_programs_that_ended_are_marked(tmp_path: Path, killed: Path) -> None:
    store = TraceStore.open(tmp_path / "traces.db")
    running = killed.with_name("running")
    lock = lock_file(running)
    assert lock is not None
    spans = [recorded_by("killed", "a"), recorded_by("running", "b"), span("c", end_us=None)]
    store.write(spans).result()
    async with recorder_id(store, RecorderFiles(tmp_path / "recorders"), SystemClock()):
        pass
    assert states(store) == {"a": "cancelled", "b": "unfinished", "c": "unfinished"}
    assert list(killed.parent.iterdir()) == [running]
    unlock_file(running, lock)
    store.close()


async def test_late_end_replaces_the_mark(tmp_path: Path, killed: Path) -> None:
    store = TraceStore.open(tmp_path / "traces.db")
    store.write([recorded_by("killed", "a")]).result()
    async with recorder_id(store, RecorderFiles(tmp_path / "recorders"), SystemClock()):
        pass
    assert states(store) == {"a": "cancelled"}
    store.write([replace(span("a"), resource={RECORDER: killed.name})]).result()
    assert states(store) == {"a": "ok"}
    assert store.summary().sums.unfinished == 0
    store.close()
