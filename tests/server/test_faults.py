"""Findings in spans, and requests of recorded calls, as the page reads them."""

import json
from pathlib import Path
from typing import Any

from tests.server.exports import binary, export, span
from tests.server.serving import Served, serving

TRACE = f"{1:032x}"


async def take(served: Served, *spans: dict[str, Any]) -> None:
    headers = {"Content-Type": "application/x-protobuf"}
    answer = await served.http.post("/v1/traces", content=binary(export(*spans)), headers=headers)
    assert answer.is_success, answer.text


def with_attributes(made: dict[str, Any], **attributes: str) -> dict[str, Any]:
    given = [
        {"key": key.replace("__", "."), "value": {"stringValue": value}}
        for key, value in attributes.items()
    ]
    return {**made, "attributes": [*made["attributes"], *given]}


async def test_findings_name_the_position_in_the_span(repo: Path) -> None:
    cut = json.dumps([{"role": "assistant", "parts": [], "finish_reason": "length"}])
    async with serving(repo) as served:
        await take(
            served,
            with_attributes(span(1, text="hello"), error__type="timeout"),
            with_attributes(span(2, text="hello"), gen_ai__output__messages=cut),
            span(3, trace=2, text="hello"),
        )

        found = await served.get("/findings", query=f"trace:{TRACE}")

        assert found["spans"] == 2
        assert found["total"] == len(found["data"])
        first = found["data"][0]
        assert (first["trace_id"], first["span_id"]) == (TRACE, f"{1:016x}")
        assert first["severity"] == "high"
        assert first["end"] - first["start"] == len(first["quote"])
        assert (await served.get("/findings", query=f"trace:{2:032x}"))["data"] == []


async def test_recorded_call_is_returned_as_a_request_without_its_key(repo: Path) -> None:
    async with serving(repo) as served:
        await take(
            served,
            with_attributes(span(1, text="hello"), gen_ai__provider__name="openai"),
            {**span(2), "name": "plain", "attributes": []},
        )

        recorded = await served.get(f"/requests/{TRACE}/{1:016x}")

        assert recorded == {
            "body": {
                "model": "openai/small",
                "messages": [{"role": "user", "content": "hello"}],
            },
            "notes": [],
        }
        refused = await served.http.get(f"/api/v1/requests/{TRACE}/{2:016x}")
        assert refused.status_code == 422
        assert "not a model call" in refused.json()["error"]["message"]
        assert (await served.http.get(f"/api/v1/requests/{TRACE}/none")).status_code == 404


async def test_runnable_calls_are_reported(repo: Path) -> None:
    async with serving(repo) as served:
        await take(served, span(1, text="hello"), {**span(2), "name": "plain", "attributes": []})

        told = [await served.get(f"/runnable/{TRACE}/{number:016x}") for number in (1, 2)]

        # The request is readable, but no provider has its model.
        assert [each["runnable"] for each in told] == [False, False]
        assert [each["readable"] for each in told] == [True, False]
        assert "There is no model 'small'." in told[0]["reason"]
        assert told[1]["reason"]
        assert (await served.http.get(f"/api/v1/runnable/{TRACE}/none")).status_code == 404
