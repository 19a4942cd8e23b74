"""Proposals over HTTP."""

import json
from base64 import b64decode, b64encode
from pathlib import Path

from tests.server.serving import Served, serving

OLD, NEW = "return left + right", "return left - right"


async def test_proposal_is_listed_applied_and_undone(repo: Path) -> None:
    file = repo / "calc.py"
    before = file.read_bytes()
    async with serving(repo) as served:
        call = {"edits": [{"file": "calc.py", "replace": {"old": OLD, "new": NEW}}]}
        result = await served.post("/tools/apply_code_edit/call", call)
        assert result["state"] == "staged"
        assert file.read_bytes() == before
        (listed,) = (await served.get("/proposals", state="staged"))["data"]
        assert listed["id"] == result["proposal_id"]
        shown = await served.get(f"/proposals/{listed['id']}")
        assert shown["files"][0]["freshness"] == "fresh"
        assert f"+    {NEW}" in shown["files"][0]["diff"]
        applied = await served.post(f"/proposals/{listed['id']}/approve", {})
        assert applied["state"] == "applied"
        assert file.read_bytes() == before.replace(OLD.encode(), NEW.encode())
        found = await served.get("/code/context", q="add", budget=2_000)
        assert NEW in str(found)
        undone = await served.post(f"/proposals/{listed['id']}/undo")
        assert undone["state"] == "undone"
        assert file.read_bytes() == before
        assert await _heard(served, "EditUndone") == ["EditStaged", "EditApplied", "EditUndone"]
        for nothing in ("none", "%2F"):
            assert (await served.http.get(f"/api/v1/proposals/{nothing}")).status_code == 404
        assert (await served.http.get("/api/v1/proposals?states=x")).status_code == 422


async def _heard(served: Served, last: str) -> list[str]:
    """The kinds of the events about edits, from the first to one of kind `last`."""
    kinds: list[str] = []
    async with served.http.stream("GET", "/api/v1/events", params={"after": 0}) as answer:
        async for line in answer.aiter_lines():
            if line.startswith("data:") and '"Edit' in line:
                kinds.append(json.loads(line.removeprefix("data:"))["type"])
                if kinds[-1] == last:
                    break
    return kinds


async def test_stale_proposal_is_a_conflict_and_can_be_restaged(repo: Path) -> None:
    file = repo / "calc.py"
    async with serving(repo) as served:
        call = {"edits": [{"file": "calc.py", "replace": {"old": OLD, "new": NEW}}]}
        made = (await served.post("/tools/apply_code_edit/call", call))["proposal_id"]
        await _amend(served, made)
        file.write_bytes(b"import os\n" + file.read_bytes())
        shown = await served.get(f"/proposals/{made}")
        assert shown["files"][0]["freshness"] == "changed"
        refused = await served.http.post(f"/api/v1/proposals/{made}/approve", json={})
        assert refused.status_code == 409
        assert refused.json()["error"]["hint"]
        await served.post(f"/proposals/{made}/restage")
        await served.post(f"/proposals/{made}/approve", {"hunks": [1]})
        assert file.read_text().startswith("import os\ndef add")
        assert NEW in file.read_text()
        denied = (await served.post("/tools/apply_code_edit/call", {
            "edits": [{"file": "calc.py", "replace": {"old": NEW, "new": OLD}}]
        }))["proposal_id"]  # fmt: skip
        answer = await served.post(f"/proposals/{denied}/deny", {"words": "no"})
        assert (answer["state"], answer["words"]) == ("denied", "no")
        again = await served.http.post(f"/api/v1/proposals/{denied}/approve", json={})
        assert not again.is_success
        wrong = await served.http.post(f"/api/v1/proposals/{denied}/deny", json={"hunks": [9]})
        assert wrong.status_code == 422


async def _amend(served: Served, proposal: str) -> None:
    """Replace the content of the proposed file by other bytes, and by its first content again."""
    here = f"/api/v1/proposals/{proposal}/files"
    where = {"path": "calc.py"}
    content = (await served.http.get(here, params=where)).json()
    assert NEW.encode() in b64decode(content["base64"])
    for data in (b64encode(b"\xff\r\n").decode(), content["base64"]):
        answer = await served.http.put(here, json={"path": "calc.py", "base64": data})
        assert answer.json()["state"] == "staged"
        assert (await served.http.get(here, params=where)).json()["base64"] == data
    wrong = await served.http.put(here, json={"path": "calc.py", "base64": "%"})
    assert wrong.status_code == 422


async def test_adjacent_hunks_have_separate_diffs(repo: Path) -> None:
    (repo / "near.py").write_text("one = 1\ntwo = 2\nthree = 3\n")
    edits = [
        {"file": "near.py", "replace": {"old": "one = 1", "new": "one = 10"}},
        {"file": "near.py", "replace": {"old": "three = 3", "new": "three = 30"}},
    ]
    async with serving(repo) as served:
        made = await served.post("/tools/apply_code_edit/call", {"edits": edits})
        (file,) = (await served.get(f"/proposals/{made['proposal_id']}"))["files"]
        assert file["diff"].count("@@ -") == 1
        assert file["hunks"] == len(file["hunk_diffs"]) == 2
        assert "+one = 10\n" in file["hunk_diffs"][0]
        assert " three = 3\n" in file["hunk_diffs"][0]


async def test_undo_skips_files_in_conflict(repo: Path) -> None:
    for name in "ab":
        (repo / f"{name}.txt").write_text("one\ntwo\nthree\n")
    edits = [{"file": f"{n}.txt", "replace": {"old": "two", "new": "TWO"}} for n in "ab"]
    edits.append({"file": "calc.py", "replace": {"old": OLD, "new": NEW}})
    async with serving(repo) as served:
        made = (await served.post("/tools/apply_code_edit/call", {"edits": edits}))["proposal_id"]
        wrong = await served.http.post(
            f"/api/v1/proposals/{made}/approve", json={"files": ["c.txt"]}
        )
        assert wrong.status_code == 422
        await served.post(f"/proposals/{made}/approve", {"files": ["a.txt", "b.txt"]})
        assert OLD in (repo / "calc.py").read_text()
        (repo / "b.txt").write_text("one\nmine\nthree\n")
        refused = await served.http.post(f"/api/v1/proposals/{made}/undo")
        assert refused.status_code == 409
        assert "b.txt" in refused.json()["error"]["message"]
        answer = await served.http.post(
            f"/api/v1/proposals/{made}/undo", params={"keep_changed": True}
        )
        undone = answer.json()
        assert undone["state"] == "partly undone"
        assert [file["undone"] for file in undone["files"]] == [True, False, False]
        assert (repo / "a.txt").read_text() == "one\ntwo\nthree\n"
        assert (repo / "b.txt").read_text() == "one\nmine\nthree\n"
