"""The same failure in several spans."""

import json
from pathlib import Path

from tests.diagnosis.report.spans import BEGIN, run, stored, tool
from treadle.diagnosis.detectors import detect
from treadle.diagnosis.findings import findings
from treadle.diagnosis.repeated_failures import repeated_failures
from treadle.diagnosis.report import analyse
from treadle.spans.span import Span
from treadle.toolbox.traces.fault_rows import fault_rows
from treadle.traces.query import Query


def _failed(span_id: str, error: str, at: int = 0) -> Span:
    return tool(span_id, {"ok": False, "error": error}, at=at)


def test_report_and_tool_count_the_same_failures(tmp_path: Path) -> None:
    spans = [run()]
    spans += [_failed(f"seat{n}", f"no seat {n} on 0x{n:08x}", at=n) for n in range(4)]
    spans += [_failed(f"disk{n}", "the disk is full", at=10 + n) for n in range(3)]
    spans += [_failed("once", "the host refused", at=20)]
    with stored(tmp_path, spans) as store:
        report = analyse(store, Query(), now_us=BEGIN)
        rows = fault_rows(store, findings(store)).repeated
    assert [(each.evidence[0].quote, len(each.also) + 1) for each in report.issues] == [
        ("no seat 0 on 0x00000000", 4),
        ("the disk is full", 3),
        ("the host refused", 1),
    ]
    assert [(row.name, row.count, row.context) for row in rows] == [
        ("get_order", 4, "no seat 0 on 0x00000000"),
        ("get_order", 3, "the disk is full"),
    ]


def test_text_without_spaces_is_compared_whole() -> None:
    errors = [json.dumps({"why": why, "id": n}) for n, why in enumerate(["disk", "host"])]
    assert repeated_failures(detect(_failed(error[:9], error) for error in errors)) == ()
