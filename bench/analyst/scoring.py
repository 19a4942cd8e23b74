"""Whether the deterministic report names the right span first, and what else it names."""

import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.analyst.cases import Planted
from treadle.diagnosis.detectors import Severity
from treadle.diagnosis.report import Report, analyse, render
from treadle.tokens import estimate
from treadle.traces.query import Query, any_of
from treadle.traces.query.conditions import Field
from treadle.traces.store.trace_store import TraceStore

_BATCH = 500


@dataclass(frozen=True, slots=True)
class Score:
    """The result of one planted trace. `seconds` is processor time."""

    planted: Planted
    report: Report
    first: bool
    """The first issue is the span that is the cause."""
    named: bool
    """And its name is right."""
    false_alarms: int
    """Issues of medium or high severity that are neither the cause nor its consequences."""
    tokens: int
    seconds: float


def scores(planted: Iterable[Planted]) -> Iterator[Score]:
    """The scores of traces, each in a separate store with the good runs before it."""
    for each in planted:
        with (
            TemporaryDirectory() as folder,
            closing(TraceStore.open(Path(folder) / "traces.db")) as store,
        ):
            spans = (*each.earlier, *each.spans)
            for start in range(0, len(spans), _BATCH):
                store.write(spans[start : start + _BATCH]).result()
            began = time.process_time()
            query = Query((any_of(Field.TRACE, [each.trace_id]),))
            report = analyse(store, query, now_us=each.spans[-1].start_us)
            text = render(report)
            seconds = time.process_time() - began
        yield _score(each, report, text, seconds)


def _score(planted: Planted, report: Report, text: str, seconds: float) -> Score:
    issue = report.issues[0] if report.issues else None
    first = issue is not None and issue.span == planted.cause
    alarms = [
        each
        for each in report.issues
        if each.severity is not Severity.LOW
        and each.span != planted.cause
        and each.span not in planted.consequences
    ]
    return Score(
        planted=planted,
        report=report,
        first=first,
        named=first and issue is not None and issue.kind is planted.case.named,
        false_alarms=len(alarms),
        tokens=estimate(text),
        seconds=seconds,
    )
