"""Saved views over HTTP."""

from pathlib import Path

from tests.server.serving import serving


async def test_views_are_saved_changed_and_deleted(repo: Path) -> None:
    given = {"screen": "runs", "name": " Slow ones ", "query": "duration>2s", "columns": ["cost"]}
    async with serving(repo) as served:
        before = (await served.get("/ui"))["revision"]
        made = await served.post("/views", given)
        assert (made["name"], made["columns"], made["search"]) == ("Slow ones", ["cost"], "")
        assert (await served.get("/ui"))["revision"] > before  # UiChanged reports it
        again = await served.http.post("/api/v1/views", json=given)
        assert (again.status_code, "Slow ones" in again.text) == (422, True)
        await served.post("/views", {**given, "screen": "threads"})
        place = f"/api/v1/views/{made['id']}"
        changed = (await served.http.patch(place, json={"name": "Slow"})).json()
        assert (changed["name"], changed["query"]) == ("Slow", "duration>2s")
    async with serving(repo) as served:
        assert [each["name"] for each in (await served.get("/views"))["data"]] == [
            "Slow", "Slow ones",
        ]  # fmt: skip
        assert (await served.get("/views", screen="runs"))["data"] == [changed]
        assert (await served.http.delete(place)).status_code == 204
        assert (await served.http.delete(place)).status_code == 404
