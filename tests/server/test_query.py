"""Help for queries over HTTP, for the search bar and its facets."""

from pathlib import Path
from typing import Any

from tests.server.serving import serving
from tests.server.test_traces_reading import made, seeded
from treadle.spans.span import SpanStatus
from treadle.traces.query import parse_query
from treadle.traces.query.vocabulary import VOCABULARY


def counts(values: list[dict[str, Any]]) -> dict[str, int]:
    return {each["value"]: each["count"] for each in values}


async def test_every_described_field_is_accepted(repo: Path) -> None:
    examples = {
        "pattern": "x*", "id": "x", "text": "x", "cost": "0.01", "duration": "2s", "count": "1k",
        "moment": "2h",
    }  # fmt: skip
    async with serving(repo) as served:
        fields = (await served.get("/query/fields"))["data"]
        names = [each.name for each in VOCABULARY if not each.keyed]
        assert [each["name"] for each in fields] == names
        for each in fields:
            assert each["description"]
            for value in each["choices"] or (examples[each["takes"]],):
                for operator in each["operators"]:
                    for name in (each["name"], *each["aliases"]):
                        assert parse_query(f"{name}{operator}{value}", now_us=1 << 50).conditions
        by_name = {each["name"]: each for each in fields}
        assert by_name["status"]["choices"] == ["unfinished", "ok", "error", "cancelled", "denied"]
        assert by_name["status"]["of_the_whole"] == ["runs"]
        assert by_name["cost"]["operators"] == [":", ">", ">=", "<", "<="]
        assert by_name["cost"]["of_the_whole"] == ["runs", "threads"]
        assert (by_name["model"]["listed"], by_name["cost"]["listed"]) == (True, False)


async def test_parsed_text_has_terms_or_a_problem(repo: Path) -> None:
    async with serving(repo) as served:
        text = '"😀 x" not labels:a,"b c" model:gpt* cost>=0.5'
        told = await served.get("/query/parse", query=text)
        assert told["problem"] is None
        searched, label, model, cost = told["terms"]
        assert (searched["field"], searched["end"]) == ("text", 6)  # 😀 has two UTF-16 code units
        assert (label["field"], label["negated"]) == ("label", True)
        assert [value["text"] for value in label["values"]] == ["a", "b c"]
        units = text.encode("utf-16-le")

        def cut(place: dict[str, Any]) -> str:
            return units[2 * place["start"] : 2 * place["end"]].decode("utf-16-le")

        assert cut(label) == 'not labels:a,"b c"'
        assert cut(label["values"][1]) == '"b c"'
        assert (model["values"][0]["wildcard"], cut(model)) == (True, "model:gpt*")
        assert (cost["operator"], cut(cost)) == (">=", "cost>=0.5")

        half = await served.get("/query/parse", query="kind:tool status:eror")
        assert [term["field"] for term in half["terms"]] == ["kind"]
        assert half["problem"]["start"] == 17
        assert half["problem"]["message"] == "status is never 'eror'."
        assert "'error'" in half["problem"]["hint"]
        assert await served.get("/query/parse") == {"terms": [], "problem": None}


async def test_values_and_facets_are_counted_under_the_filter(repo: Path) -> None:
    seeded(
        repo,
        made("one", model="gpt-5", labels=("a b",), run_id="r1"),
        made("two", model="gpt-4", labels=("a b", "\udc80"), run_id="r1"),
        made("bad", model="my-gpt", trace_id="t2", status=SpanStatus.ERROR, error="x"),
    )
    async with serving(repo) as served:
        found = await served.get("/query/values", field="model", prefix="GP", limit=2)
        assert [each["value"] for each in found["values"]] == ["gpt-4", "gpt-5"]
        assert found["more"] is True
        found = await served.get("/query/values", field="labels", query="model:gpt*", prefix="b")
        assert found["values"] == [{"value": "a b", "count": 2, "written": '"a b"'}]
        found = await served.get("/query/values", field="period", prefix="t")
        values = [each["value"] for each in found["values"]]
        assert values[0] == "today"
        assert values[-1] == "yesterday"
        found = await served.get("/query/values", field="period", prefix="last_h")
        assert found["values"] == [{"value": "last_hour", "count": None, "written": "last_hour"}]

        told = await served.get("/facets", query="model:gpt-5", status="ok")
        facets = {each["field"]: counts(each["values"]) for each in told["data"]}
        assert told["complete"] is True
        assert facets["model"] == {"gpt-4": 1, "gpt-5": 1}
        assert facets["status"] == {"ok": 1}
        assert facets["label"] == {"a b": 1}
        told = await served.get("/facets", rows="runs")
        facets = {each["field"]: counts(each["values"]) for each in told["data"]}
        assert facets["status"] == {"ok": 1, "error": 1}
        assert facets["model"] == {"gpt-4": 1, "gpt-5": 1, "my-gpt": 1}
        assert facets["label"] == {"a b": 1, "\udc80": 1}

        for field in ("nothing", "cost"):
            refused = await served.http.get("/api/v1/query/values", params={"field": field})
            assert refused.status_code == 422
            assert field in refused.json()["error"]["message"]
        wrong = await served.http.get("/api/v1/facets", params={"query": "status:eror"})
        assert wrong.status_code == 422


async def test_users_and_metadata_are_fields(repo: Path) -> None:
    team = {"tenant": "acme", "team name": "a"}
    seeded(
        repo,
        made("root", user="alice", release="1.4", metadata=team),
        made("call", parent_id="root", model="gpt-5"),
        made("other", trace_id="t2", user="bob", metadata={"tenant": "globex"}),
    )
    async with serving(repo) as served:
        names = [each["name"] for each in (await served.get("/query/fields"))["data"]]
        assert {"metadata.tenant", 'metadata."team name"', "user"} <= set(names)
        assert "metadata" not in names
        found = await served.get("/query/values", field="metadata.tenant", prefix="a")
        assert found["field"] == "metadata.tenant"
        assert counts(found["values"]) == {"acme": 2}
        facets = (await served.get("/facets", query="model:gpt-5"))["data"]
        by_name = {each["field"]: counts(each["values"]) for each in facets}
        assert by_name["user"] == {"alice": 1}
        assert by_name['metadata."team name"'] == {"a": 1}
        for query in ("user:alice", "release:1.4", 'metadata."team name":a', "metadata.tenant:AC*"):
            spans = (await served.get("/spans", query=query))["data"]
            assert {each["span_id"] for each in spans} == {"root", "call"}
            assert {each["user"] for each in spans} == {"alice"}
            assert {each["metadata"]["tenant"] for each in spans} == {"acme"}
            (run,) = (await served.get("/runs", query=query))["data"]
            assert (run["user"], run["release"]) == ("alice", "1.4")
        groups = (await served.get("/groups", group_by='metadata."team name"'))["data"]
        assert [(each["value"], each["spans"]) for each in groups] == [("a", 2), ("", 1)]
        by_release = (await served.get("/groups", group_by="release", sort="group"))["data"]
        assert by_release[0]["value"] == "1.4"
        assert (by_release[0]["runs"], by_release[0]["failed_runs"]) == (1, 0)
        assert by_release[0]["duration_of"] == "runs"
        ascending = await served.get(
            "/groups", group_by="release", sort="group", ascending="true", figures="false"
        )
        assert [each["value"] for each in ascending["data"]] == ["", "1.4"]
        assert ascending["data"][0]["runs"] is None
        without = (await served.get("/spans", query="-release:*"))["pagination"]["total"]
        assert ascending["data"][0]["spans"] == without
        nested = await served.get("/nested_groups", group_by="release", then_by="operation")
        inner = {each["value"]: each["groups"] for each in nested["data"]}
        assert sum(each["spans"] for each in inner["1.4"]) == 2
        assert sum(each["spans"] for each in inner[""]) == without
        refused = await served.http.get("/api/v1/groups", params={"group_by": "tenant"})
        assert refused.status_code == 422
