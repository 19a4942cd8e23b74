"""No request causes a server error, and every answer comes in bounded time."""

import base64
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.server import exports
from tests.server.hostile import Asked, requests
from tests.server.serving import Served, serving

SECONDS = 30.0
"""More than any answer takes on a busy machine."""
STREAMS = re.compile(r"/events$")
"""Answers without an end."""


async def _fill(served: Served) -> dict[str, Any]:
    """Create spans, an experiment, a view and a proposal, and return their ids."""
    sent = exports.export(*(exports.span(number, text="wool") for number in range(1, 4)))
    assert (await served.http.post("/v1/traces", json=sent)).is_success
    trace, span = f"{1:032x}", f"{1:016x}"
    await served.post("/tools/create_file/call", {"path": "new.py", "content": "x = 1\n"})
    made = await served.http.post("/api/v1/experiments", json={"span_id": span, "trace_id": trace})
    proposals = (await served.get("/proposals"))["data"]
    return {
        "trace_id": trace,
        "span_id": span,
        "ids": f"{trace}/{span}",
        "run_id": trace,
        "thread_id": trace,
        "reference": made.json().get("id") or proposals[0]["id"],
        "name": "read_file",
        "path": "calc.py",
        "digest": "0" * 64,
        "turn": "0",
        "slot": "0",
    }


async def _faults(served: Served, asked: Sequence[Asked]) -> list[str]:
    wrong = []
    for each in asked:
        answer = await served.http.request(
            each.method,
            each.path,
            params=list(each.query),
            content=each.body,
            headers={"content-type": "application/json"} if each.body is not None else {},
            timeout=SECONDS,
        )
        if answer.status_code >= 500:
            query = [(name, value[:40]) for name, value in each.query]
            wrong.append(f"{each.method} {each.path[:90]} {query} {(each.body or b'')[:120]!r}")
    return wrong


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_no_parameter_value_causes_a_server_error(repo: Path) -> None:
    async with serving(repo) as served:
        values = await _fill(served)
        document = (await served.http.get("/api/openapi.json")).json()
        asked = [
            each
            for each in requests(document, values)
            if not (each.method == "get" and STREAMS.search(each.path))
        ]
        assert len(asked) > 5_000
        assert not await _faults(served, asked)


QUICK = (
    Asked("get", "/api/v1/code/search", (("q", "add"), ("repo", "\x00"))),
    Asked("get", "/api/v1/code/search", (("q", "add"), ("repo", "n" * 5_000))),
    Asked("get", "/api/v1/code/context", (("q", "add"), ("repo", "~" * 300))),
    Asked("get", "/api/v1/experiments", (("offset", str(2**70)),)),
    Asked("get", "/api/v1/spans", (("query", "or " * 3_000 + "x"),)),
    Asked("get", "/api/v1/spans", (("query", "a or " * 1_500 + "b"),)),
    Asked("get", "/api/v1/spans", (("query", "(" * 3_000),)),
    Asked("get", "/api/v1/spans", (("query", "-" * 3_000 + "x"),)),
    Asked("get", "/api/v1/search", (("q", "or " * 3_000 + "x"),)),
    Asked("get", "/api/v1/query/parse", (("query", "x or " * 1_900),)),
    Asked("get", "/api/v1/runs/" + "n" * 6_000),
    Asked("get", "/api/v1/sessions/%00"),
    Asked("post", "/api/v1/tools/" + "n" * 5_000 + "/call", body=b"{}"),
    Asked("post", "/api/v1/tools/read_file/call", body=b"[" * 30_000),
    Asked("post", "/api/v1/tools/apply_experiment_data/call", body=b'{"data": {}}'),
    Asked("post", "/api/v1/tools/run_experiment/call", body=b"{}"),
    Asked("post", "/api/v1/turns", body=b'{"text": "\\ud800", "model": "x/y"}'),
    Asked("post", "/api/v1/turns", body=b'{"text": "x", "model": "nowhere/y"}'),
    Asked("post", "/api/v1/turns", body=b'{"text": "x", "model": "\\u0000"}'),
    Asked("post", "/api/v1/breakpoints", body=b'{"model": "\\ud800"}'),
    Asked("post", "/api/v1/breakpoints", body=b'{"labels": ["\\ud800"]}'),
    Asked("get", "/api/v1/breakpoints"),
    Asked("get", "/api/v1/redaction/preview", (("pattern", ".."),)),
    Asked("get", "/api/v1/findings", (("text", "needle"),)),
    Asked("get", "/api/v1/findings", (("text", "a\nb"),)),
)


async def test_known_hostile_requests_are_refused(repo: Path) -> None:
    async with serving(repo) as served:
        spans = (exports.span(number, text="needle") for number in range(1, 4))
        assert (await served.http.post("/v1/traces", json=exports.export(*spans))).is_success
        assert not await _faults(served, QUICK)
        answer = await served.http.get("/api/v1/spans", params={"query": "a or " * 5_000 + "b"})
        assert answer.status_code in {200, 422}


@pytest.mark.parametrize("kind", ["image/é", "text/html\r\nX-Evil: 1", "x" * 500 + "/y", "image"])
async def test_an_attachment_of_an_odd_type_is_served_as_bytes(repo: Path, kind: str) -> None:
    data = base64.b64encode(bytes(range(256)) * 40).decode()
    async with serving(repo) as served:
        sent = exports.export(exports.span(1, text=f"see data:{kind};base64,{data} there"))
        assert (await served.http.post("/v1/traces", json=sent)).is_success
        whole = await served.get(f"/spans/{1:032x}/{1:016x}", whole="true")
        for digest in set(re.findall(r"\b[0-9a-f]{64}\b", str(whole))):
            blob = await served.http.get(f"/api/v1/blobs/{digest}")
            assert blob.status_code == 200
            assert "x-evil" not in blob.headers
