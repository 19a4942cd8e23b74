"""What the command line says of calls that were recorded twice, and of traces without a root."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import treadle
from tests.spans.otlp.exports import START, TRACE, as_json, request, span

CALL = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "gpt-4o-mini",
    "gen_ai.usage.input_tokens": 1_000,
    "gen_ai.usage.output_tokens": 100,
    "gen_ai.usage.cost": 0.25,
}


def made(number: int, parent: int | None, attributes: Mapping[str, Any]) -> dict[str, Any]:
    return span(
        spanId=f"{number:016x}",
        parentSpanId="" if parent is None else f"{parent:016x}",
        attributes=attributes,
        startTimeUnixNano=str(START + number),
        endTimeUnixNano=str(START + number + 1_000_000_000),
    )


def reported(tmp_path: Path, *spans: dict[str, Any]) -> dict[str, Any]:
    """What `list`, `show` and `summary` report."""
    home = tmp_path / "home"
    for each in spans:  # one by one, as they may arrive
        (tmp_path / "spans.json").write_bytes(as_json(request(each)))
        assert treadle("traces", "import", str(tmp_path / "spans.json"), home=home).status == 0
    words = (("list",), ("show", TRACE), ("summary",))
    ran = [treadle("traces", *each, "--json", home=home) for each in words]
    assert [each.status for each in ran] == [0, 0, 0]
    return dict(
        zip(("list", "show", "summary"), (json.loads(each.out) for each in ran), strict=True)
    )


@pytest.mark.slow
@pytest.mark.parametrize("order", [(1, 2, 3, 4), (4, 3, 1, 2), (2, 4, 1, 3)])
def test_call_with_transport_spans_between_counts_once(
    tmp_path: Path, order: tuple[int, ...]
) -> None:
    http = {"http.request.method": "POST"}
    spans = {
        1: made(1, None, CALL),
        2: made(2, 1, http),
        3: made(3, 2, http),
        4: made(4, 3, CALL),
    }
    found = reported(tmp_path, *(spans[each] for each in order))
    (listed,) = found["list"]["data"]
    for sums in (listed["sums"], found["show"]["totals"]):
        assert sums["model_calls"] == 1
        assert (sums["tokens"]["input"], sums["tokens"]["output"]) == (1_000, 100)
        assert sums["cost"] == 0.25
    summary = found["summary"]["summary"]
    assert (summary["total_input_tokens"], summary["total_cost"]) == (1_000, 0.25)


def test_list_and_show_agree_on_a_trace_whose_root_never_came(tmp_path: Path) -> None:
    found = reported(tmp_path, made(2, 1, CALL))
    (listed,) = found["list"]["data"]
    shown = found["show"]
    assert (listed["status"], listed["duration_us"]) == ("ok", 1_000_000)
    assert (shown["status"], shown["duration_us"]) == ("ok", 1_000_000)
    text = treadle("traces", "show", TRACE, home=tmp_path / "home")
    assert "missing parent" in text.out
