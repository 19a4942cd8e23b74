import json
import os
from pathlib import Path

import pytest

from tests.cli.command import treadle
from tests.server.serving import serving
from treadle import __version__


async def test_search_matches_the_command_line_and_is_fresh(repo: Path) -> None:
    async with serving(repo) as served:
        found = await served.get("/code/search", q="add", top_k=5)
        said = json.loads(
            treadle(
                "search", "add", "--json", "--top-k", "5", home=repo.parent / "h", repo=repo
            ).out
        )
        for each in (found, said):
            del each["took_ms"]
        assert found == said
        assert found["results"][0]["canonical_path"] == "calc.add"
        (repo / "more.py").write_text("def subtract(left, right):\n    return left - right\n")
        later = await served.get("/code/search", q="subtract", view="files")
        assert later["results"][0]["file"] == "more.py"


async def test_file_name_outside_utf8_is_escaped(repo: Path) -> None:
    name = os.fsdecode(b"odd-\xff.py")
    try:
        (repo / name).write_text("def zebra():\n    return 1\n")
    except OSError:
        pytest.skip("the file system has no such names")
    async with serving(repo) as served:
        found = await served.get("/code/search", q="zebra")
        refused = await served.http.get("/api/v1/code/search?q=a&top_k=x")
    assert [each["file"] for each in found["results"]] == [name]
    assert refused.status_code == 422


async def test_context_equals_that_of_a_model(repo: Path) -> None:
    async with serving(repo) as served:
        found = await served.get("/code/context", q="how does add work", budget=1_000)
    (entry,) = found["context"]
    assert entry["canonical_path"] == "calc.add"
    assert "return left + right" in entry["snippet"]


async def test_health_describes_the_server(repo: Path) -> None:
    async with serving(repo) as served:
        await served.get("/code/search", q="add")
        health = await served.get("/health")
    assert health["ok"] is True
    assert health["version"] == __version__
    assert health["root"] == str(repo)
    assert (health["index"]["files"], health["index"]["fresh"]) == (1, True)


async def test_tools_are_listed_and_called(repo: Path) -> None:
    async with serving(repo) as served:
        listed = await served.get("/tools")
        by_name = {tool["name"]: tool for tool in listed["data"]}
        assert by_name["read_file"]["effect"] == "read"
        assert "path" in by_name["read_file"]["parameters"]["properties"]
        read = await served.post("/tools/read_file/call", {"path": "calc.py"})
        assert read["ok"] is True
    # The server has ended, so its span is on disk.
    listed = json.loads(treadle("traces", "list", "--json", home=repo.parent / "home").out)
    assert [run["name"] for run in listed["data"]] == ["execute_tool read_file"]


async def test_errors_have_a_message_and_a_status(repo: Path) -> None:
    async with serving(repo) as served:
        for path, status, words in (
            ("/code/search?q=add&color=red", 422, "There is no parameter 'color'."),
            ("/code/search", 422, "q: "),
            ("/health?color=red", 422, "There is no parameter 'color'."),
            ("/events?last=1", 422, "There is no parameter 'last'."),
            ("/code/search?q=add&q=sub", 422, "The parameter 'q' is given 2 times."),
            ("/spans?query=a&query=b", 422, "The parameter 'query' is given 2 times."),
            ("/spans?model=a&period=today&period=today", 422, "The parameter 'period' is given 2"),
            ("/code/search?q=%20", 422, "The query is empty."),
            ("/code/search?q=add&top_k=0", 422, "top_k: "),
            ("/code/search?q=add&repo=/nowhere", 404, "not /nowhere"),
            ("/nothing", 404, "Not Found."),
        ):
            answer = await served.http.get(f"/api/v1{path}")
            assert answer.status_code == status, path
            assert words in answer.json()["error"]["message"]
        assert await served.get("/spans", model=["a", "b"], kind=["model", "tool"], query="a")
        headers = {"Content-Type": "application/json"}
        junk = await served.http.post("/api/v1/turns", content=b"{", headers=headers)
        assert junk.json()["error"]["message"] == "The body is not valid JSON."
        for name, body, status, kind in (
            ("read_file", {"path": "../secret"}, 403, "permission"),
            ("read_file", {"path": 3}, 422, "validation"),
            ("fly", {}, 404, "unknown_tool"),
        ):
            answer = await served.http.post(f"/api/v1/tools/{name}/call", json=body)
            failure = answer.json()
            assert (answer.status_code, failure["ok"], failure["kind"]) == (status, False, kind)
