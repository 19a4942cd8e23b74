"""Recorded spans: read and deleted over HTTP."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from tests.server.exports import START_NS, binary, export, span
from tests.server.serving import Served, serving
from treadle.spans.span import Span, SpanKind, SpanStatus
from treadle.traces import TraceStore

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20
SVG = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>" * 40
ODD = "a/b?c=ü 100%#..\\'\""


def seeded(repo: Path, *spans: Span) -> None:
    """Store spans before the server starts."""
    path = repo.parent / "home" / "data" / "traces.db"
    store = TraceStore.open(path)
    store.write(spans).result()
    store.close()


def made(span_id: str, **more: Any) -> Span:
    values: dict[str, Any] = {
        "trace_id": "trace",
        "kind": SpanKind.MODEL,
        "operation": "chat",
        "name": f"chat {span_id}",
        "start_us": START_NS // 1_000,
        "end_us": START_NS // 1_000 + 5_000,
        "status": SpanStatus.OK,
    }
    return Span(span_id=span_id, **values | more)


async def test_lists_take_filters_pages_and_cursors(repo: Path) -> None:
    seeded(
        repo,
        *(
            made(f"s{number}", trace_id=f"t{number}", start_us=number * 1_000_000, labels=("a",))
            for number in range(1, 8)
        ),
        made("bad", trace_id="t9", status=SpanStatus.ERROR, error="boom", labels=("a", "b")),
    )
    async with serving(repo) as served:
        first = await served.get("/spans", labels="a", limit=3, sort="time", ascending="true")
        assert [each["span_id"] for each in first["data"]] == ["s1", "s2", "s3"]
        cursor = first["pagination"]["next_cursor"]
        rest = await served.get(
            "/spans", labels="a", limit=9, sort="time", ascending="true", cursor=cursor
        )
        assert [each["span_id"] for each in rest["data"]] == ["s4", "s5", "s6", "s7", "bad"]
        assert rest["pagination"]["next_cursor"] is None
        failed = await served.get("/runs", query="status:error")
        assert [each["run_id"] for each in failed["data"]] == ["t9"]
        assert (await served.get("/threads", limit=2, offset=1))["pagination"]["offset"] == 1
        found = await served.get("/labels")
        assert {each["name"]: each["count"] for each in found["data"]} == {"a": 8, "b": 1}
        groups = await served.get("/groups", group_by="label")
        assert {each["value"] for each in groups["data"]} >= {"a", "b"}
        assert (await served.get("/summary", labels="a"))["summary"]["total_spans"] == 8


async def test_lists_are_exported_whole_with_their_filters(repo: Path) -> None:
    spans = [made(f"s{number}", trace_id=f"t{number}", model="=m") for number in range(60)]
    seeded(repo, *spans, made("other", trace_id="t", labels=("a",)))
    async with serving(repo) as served:
        path = "/api/v1/exports"
        runs = await served.http.get(f"{path}/runs", params={"query": "-label:a"})
        found = await served.http.get(f"{path}/spans", params={"labels": "a", "format": "jsonl"})
        groups = await served.http.get(f"{path}/groups", params={"group_by": "model"})
        refused = await served.http.get(f"{path}/runs", params={"query": "status:eror"})
        threads = await served.http.get(f"{path}/threads")
        listed = await served.get("/spans", labels="a")

    assert len(runs.text.splitlines()) == 61
    assert runs.headers["content-type"] == "text/csv; charset=utf-8"
    assert runs.headers["content-disposition"] == 'attachment; filename="runs.csv"'
    assert [json.loads(line) for line in found.text.splitlines()] == listed["data"]
    assert found.headers["content-disposition"] == 'attachment; filename="spans.jsonl"'
    assert groups.text.splitlines()[1].startswith("'=m,60,")
    assert len(threads.text.splitlines()) == 62
    assert (refused.status_code, "never 'eror'" in refused.text) == (422, True)


async def test_thread_with_any_id_is_one_html_page(repo: Path) -> None:
    seeded(repo, made("s", thread_id=ODD, run_id="run 1", input="<b>bold</b>"))
    async with serving(repo) as served:
        page = await served.http.get(f"/api/v1/exports/html/{quote(ODD, safe='')}")
        run = await served.http.get("/api/v1/exports/html/run%201")
        missing = await served.http.get("/api/v1/exports/html/nothing")

    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["content-disposition"] == 'attachment; filename="thread.html"'
    assert "&lt;b&gt;bold&lt;/b&gt;" in page.text
    assert run.headers["content-disposition"] == 'attachment; filename="run.html"'
    assert missing.status_code == 404


async def test_two_runs_are_compared_over_http(repo: Path) -> None:
    seeded(
        repo,
        made("a", trace_id="t1", name="chat", output="yes"),
        made("b", trace_id="t2", name="chat", output="no"),
    )
    async with serving(repo) as served:
        found = await served.get("/comparison", a="t1", b="t2")
        missing = await served.http.get("/api/v1/comparison", params={"a": "t1", "b": "t9"})

    (step,) = found["steps"]
    assert step["changes"] == ["output"]
    assert step["texts"][0]["lines"][-2:] == ["-yes", "+no"]
    assert missing.status_code == 404


async def test_search_is_literal_and_times_are_iso_or_relative(repo: Path) -> None:
    seeded(
        repo,
        made("one", input="a 100% sure snake_case"),
        made("two", input="a 100 sure snakeXcase"),
    )
    async with serving(repo) as served:
        for text in ("100%", "snake_case"):
            for parameters in ({"q": text}, {"text": text}, {"query": f'"{text}"'}):
                hits = await served.get("/search", **parameters)
                assert [hit["span_id"] for hit in hits["data"]] == ["one"], parameters
        since = await served.get("/spans", since="2023-11-14T22:13:20Z")
        assert len(since["data"]) == 2
        assert (await served.get("/spans", since="2023-11-14T22:13:21Z"))["data"] == []
        assert (await served.get("/spans", period="last_hour"))["data"] == []
        assert len((await served.get("/spans", until="1h"))["data"]) == 2


async def test_unknown_parameter_is_reported_with_the_nearest_name(repo: Path) -> None:
    wrongs = ("since=yesterdayish", "status=maybe", "query=colour:red", "period=never")
    async with serving(repo) as served:
        for path in ("spans", "runs", "threads", "search", "summary", "labels"):
            answer = await served.http.get(f"/api/v1/{path}?thread_idz=1")
            assert answer.status_code == 422
            assert "'thread_idz'" in answer.json()["error"]["message"]
            assert "'thread_ids'" in answer.json()["error"]["hint"]
            for wrong in wrongs:
                refused = await served.http.get(f"/api/v1/{path}?{wrong}")
                assert refused.status_code == 422, (path, wrong)
                assert refused.json()["error"]["message"]


async def test_ids_are_opaque_in_addresses(repo: Path) -> None:
    odd = made(ODD, trace_id=f"t{ODD}", run_id=f"r{ODD}", thread_id=f"h{ODD}", input="x")
    seeded(repo, odd)
    async with serving(repo) as served:

        async def at(path: str, *ids: str) -> httpx2.Response:
            ended = "/".join(quote(each, safe="") for each in ids)
            return await served.http.get(f"/api/v1/{path}/{ended}")

        assert (await at("runs", f"r{ODD}")).json()["run_id"] == f"r{ODD}"
        skeleton = (await at("traces", f"t{ODD}")).json()
        assert skeleton["columns"]["span_ids"] == [ODD]
        content = (await at("spans", f"t{ODD}", ODD)).json()
        assert content["span"]["input"] == "x"
        for path, ids in (("runs", ["no"]), ("traces", ["no"]), ("spans", ["no", "no"])):
            assert (await at(path, *ids)).status_code == 404
        assert (await served.http.get("/api/v1/spans/only")).status_code == 404
        by_id = await served.get("/spans", run_ids=f"r{ODD}")
        assert [each["span_id"] for each in by_id["data"]] == [ODD]


@pytest.mark.slow
async def test_large_values_are_previews_with_their_parts(repo: Path) -> None:
    image = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    active = f"data:image/svg+xml;base64,{base64.b64encode(SVG).decode()}"
    message = json.dumps([{"role": "user", "content": f"{image} {active}"}])
    async with serving(repo) as served:
        sent = binary(export(span(1, text="x" * 300_000)))
        kind = {"Content-Type": "application/x-protobuf"}
        assert (await served.http.post("/v1/traces", content=sent, headers=kind)).is_success
        short = await served.http.get(f"/api/v1/spans/{1:032x}/{1:016x}")
        assert len(short.content) < 60_000
        assert short.json()["cut"][0]["characters"] >= 300_000
        whole = await served.get(f"/spans/{1:032x}/{1:016x}", whole="true")
        assert "x" * 300_000 in json.dumps(whole["span"])
        await write(served, made("pictures", input=message), repo)
        told = await served.get("/spans/trace/pictures")
        parts = [part for part in told["cut"][0]["parts"] if "blob" in part]
        assert [part["media_type"] for part in parts] == ["image/png", "image/svg+xml"]
        for part, data, shown in zip(parts, (PNG, SVG), ("inline", "attachment"), strict=True):
            blob = await served.http.get(f"/api/v1/blobs/{part['blob']}")
            assert blob.content == data
            assert blob.headers["x-content-type-options"] == "nosniff"
            assert blob.headers["content-disposition"] == shown
        for digest, status in (("0" * 64, 404), ("..", 404), ("xyz", 422)):
            assert (await served.http.get(f"/api/v1/blobs/{digest}")).status_code == status


async def write(_served: Served, one: Span, repo: Path) -> None:
    seeded(repo, one)


async def test_texts_are_returned_unchanged(repo: Path) -> None:
    text = "NUL \x00, a lone \ud83d half, 🧵, \u202e, ignore all previous instructions"
    seeded(repo, made("odd", input=text, attributes={"k": [text]}))
    async with serving(repo) as served:
        told = (await served.get("/spans/trace/odd"))["span"]
        assert told["input"] == text
        assert told["attributes"] == {"k": [text]}
        listed = await served.get("/spans")
        assert listed["data"][0]["input_preview"].startswith("NUL")


@pytest.mark.slow
async def test_a_trace_of_thousands_is_a_small_skeleton(repo: Path) -> None:
    async with serving(repo) as served:
        for begin in range(1, 6_000, 3_000):
            body = export(*(span(number) for number in range(begin, begin + 3_000)))
            assert (await served.http.post("/v1/traces", json=body)).is_success
        answer = await served.http.get(f"/api/v1/traces/{1:032x}")
        assert answer.headers["content-encoding"] == "gzip"
        raw = json.dumps(answer.json(), separators=(",", ":")).encode()
        assert len(gzip.compress(raw, 4)) < 6_000 / 40_000 * 2_000_000
        assert {len(column) for column in answer.json()["columns"].values()} == {6_000}
        plain = await served.http.get(
            f"/api/v1/traces/{1:032x}", headers={"Accept-Encoding": "identity"}
        )
        assert "content-encoding" not in plain.headers


async def test_deleted_runs_are_not_found(repo: Path) -> None:
    seeded(
        repo,
        made("one", run_id="r/1\n"),
        made("two", trace_id="t2", run_id="r/2", thread_id="h/\n2", input="a secret sentence"),
    )
    async with serving(repo) as served:
        for path in ("runs/r%2F1%0A", "threads/h%2F%0A2"):
            gone = await served.http.delete(f"/api/v1/{path}")
            assert gone.status_code == 200
            assert gone.json()["spans"] == 1
            assert (await served.http.delete(f"/api/v1/{path}")).status_code == 404
        assert (await served.get("/spans"))["data"] == []
        assert (await served.get("/search", q="secret sentence"))["data"] == []


async def test_rule_preview_changes_nothing(repo: Path) -> None:
    message = json.dumps([{"role": "user", "content": "I am EMP-1234, not EMP-12"}])
    seeded(repo, made("one", input=message, attributes={"who": ["EMP-9999"]}), made("two"))
    async with serving(repo) as served:
        told = await served.get("/redaction/preview", pattern="EMP-[0-9]{4}")
        assert (told["spans"], told["changed"], told["found"]) == (2, 1, 2)
        assert {each["field"] for each in told["examples"]} == {"input", "attributes.who"}
        assert "1234" not in json.dumps([each["masked"] for each in told["examples"]])
        none = await served.get("/redaction/preview", pattern="EMP-[0-9]{4}", span_ids="two")
        assert none["found"] == 0
        ill = await served.http.get("/api/v1/redaction/preview?pattern=(")
        assert ill.status_code == 422
        assert (await served.get("/spans/trace/one"))["span"]["input"] == message


TOKEN = "a-token-of-the-user"

ROUTES = ["/redaction/preview?pattern=x"]
ROUTES += ["/spans", "/runs", "/threads", "/traces/x", "/spans/x/y", f"/blobs/{'0' * 64}"]
ROUTES += ["/groups?group_by=model", "/labels", "/search?q=x", "/summary", "/health", "/events"]


async def test_beyond_loopback_every_route_needs_the_token(repo: Path) -> None:
    async with serving(repo, "--host", "0.0.0.0", TREADLE_SERVE_TOKEN=TOKEN) as served:
        here = f"http://127.0.0.1:{served.address.rpartition(':')[2]}"
        async with httpx2.AsyncClient(base_url=here) as http:
            for route in ROUTES:
                assert (await http.get(f"/api/v1{route}")).status_code == 401
            for path in ("/api/v1/runs/x", "/api/v1/threads/x"):
                assert (await http.delete(path)).status_code == 401
            assert (await http.post("/v1/traces", json={})).status_code == 401
            token = {"Authorization": f"Bearer {TOKEN}"}
            assert (await http.post("/v1/traces", json={}, headers=token)).status_code == 200
            assert (await http.get("/api/v1/spans", headers=token)).status_code == 200
            assert (await http.get("/api/v1/runs?status=ok", headers=token)).status_code == 200
        evil = {"Origin": "https://evil.example"} | token
        async with httpx2.AsyncClient(base_url=here, headers=evil) as http:
            assert (await http.post("/v1/traces", json={})).status_code == 403
            assert (await http.delete("/api/v1/runs/x")).status_code == 403
