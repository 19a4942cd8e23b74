"""The selected rows of a list: counted, labelled and deleted over HTTP."""

from pathlib import Path
from typing import Any

from tests.server.serving import Served, serving
from tests.server.test_traces_reading import made, seeded
from treadle.spans.span import SpanKind, SpanStatus


async def post(served: Served, path: str, body: dict[str, Any], status: int = 200) -> Any:
    answer = await served.http.post(f"/api/v1/selections/{path}", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


async def labelled(served: Served, label: str) -> set[str]:
    found = await served.get("/spans", query=f"label:{label}")
    return {f"{each['trace_id']}/{each['span_id']}" for each in found["data"]}


async def test_selected_rows_are_counted_labelled_and_deleted(repo: Path) -> None:
    seeded(
        repo,
        *(
            made(name, trace_id=f"t{n}", parent_id=parent, run_id=f"r{n}", thread_id="talk")
            for n in (1, 2, 3)
            for name, parent in (("root", None), ("call", "root"))
        ),
        made("bad", trace_id="t4", run_id="r4", thread_id="alone", status=SpanStatus.ERROR),
    )
    async with serving(repo) as served:
        repeated = [*("r1", "r2"), *(f"unknown {number}" for number in range(600)), "r1"]
        of_two = {"rows": "runs", "ids": repeated}
        assert await post(served, "count", of_two) == {
            "rows": 2, "traces": None, "spans": 4, "complete": True,
        }  # fmt: skip
        of_span = {"rows": "spans", "ids": ["t3/call"]}
        assert await post(served, "count", of_span) == {
            "rows": 1, "traces": 1, "spans": 2, "complete": True,
        }  # fmt: skip

        assert await post(served, "label", {**of_two, "add": ["good"]}) == {"spans": 2}
        assert await labelled(served, "good") == {"t1/root", "t1/call", "t2/root", "t2/call"}
        assert await post(served, "label", {**of_span, "add": ["odd"]}) == {"spans": 1}
        assert await labelled(served, "odd") == {"t3/call"}
        matching = {"rows": "runs", "query": "label:good"}
        await post(served, "label", {**matching, "remove": ["good"], "add": ["best"]})
        assert await labelled(served, "good") == set()
        for reserved in ("budget:team", "treadle:experiment"):
            await post(served, "label", {**of_two, "add": [reserved]}, 422)
        await post(served, "count", {"rows": "runs"}, 422)

        gone = await post(served, "delete", {"rows": "runs", "query": "status:error"})
        assert gone["spans"] == 1
        gone = await post(served, "delete", of_span)
        assert (gone["spans"], gone["traces"]) == (2, 1)
        left = await served.get("/runs")
        assert {run["run_id"] for run in left["data"]} == {"r1", "r2"}
        await post(served, "delete", {"rows": "threads", "ids": ["talk"]})
        assert (await served.get("/spans"))["data"] == []


async def test_selection_by_query_leaves_out_calls_of_the_analyst(repo: Path) -> None:
    seeded(
        repo,
        made("a", trace_id="t1", kind=SpanKind.RUN),
        made("b", trace_id="t2", labels=("treadle:analyst",)),
    )
    async with serving(repo) as served:
        counted = await post(served, "count", {"rows": "runs", "query": ""})
        assert counted["rows"] == 1
        gone = await post(served, "delete", {"rows": "runs", "query": ""})
        assert gone["spans"] == 1
        left = await served.get("/spans", own="include")
        assert [each["span_id"] for each in left["data"]] == ["b"]
