"""The limits of API keys at a server, and the entries about keys in its audit log."""

import json
from pathlib import Path
from typing import Any

import httpx2

from tests.cli.command import treadle
from tests.server.exports import export, span
from tests.server.serving import serving


def created(home: Path, name: str, *options: str) -> dict[str, str]:
    """The header with a new key."""
    ran = treadle("keys", "create", name, *options, home=home)
    assert ran.status == 0, ran.err
    return {"Authorization": f"Bearer {ran.out.strip()}"}


def audited(home: Path) -> list[Any]:
    ran = treadle("audit", "--json", home=home)
    entries: list[Any] = json.loads(ran.out)["entries"]
    return entries


async def test_key_sends_a_number_of_spans_in_a_minute(repo: Path) -> None:
    home = repo.parent / "home"
    limited = created(home, "ci", "--spans-per-minute", "3")
    other = created(home, "other")
    async with serving(repo) as served:

        async def send(number: int, headers: dict[str, str]) -> httpx2.Response:
            spans = [span(4 * number + each) for each in range(1, 5)]
            return await served.http.post("/v1/traces", json=export(*spans), headers=headers)

        answers = [await send(number, limited) for number in range(3)]
        refused = [answer for answer in answers if answer.status_code == 429]
        assert answers[0].status_code == 200
        assert refused  # at most one minute ends during the test
        assert 0 < int(refused[0].headers["Retry-After"]) <= 60
        assert "3 spans a minute" in refused[0].json()["message"]
        assert (await send(9, other)).status_code == 200
        assert (await served.http.get("/api/v1/spans", headers=limited)).status_code == 403
        stored = len((await served.get("/spans"))["data"])
        assert stored == 4 * (1 + sum(answer.status_code == 200 for answer in answers))


async def test_deletions_exports_and_settings_are_in_the_audit_log(repo: Path) -> None:
    home = repo.parent / "home"
    key = created(home, "cleaner", "--scopes", "ingest,read,write")
    async with serving(repo) as served:
        spans = export(span(1, trace=1), span(2, trace=2))
        sent = await served.http.post("/v1/traces", json=spans, headers=key)
        assert sent.status_code == 200
        listed, kept = (await served.http.get("/api/v1/spans", headers=key)).json()["data"]
        trace = f"/api/v1/traces/{listed['trace_id']}"
        exported = await served.http.get("/api/v1/exports/spans?format=csv", headers=key)
        link = await served.http.post(
            "/api/v1/exports/links",
            json={"path": "/api/v1/exports/runs?format=csv"},
            headers=key,
        )
        downloaded = await served.http.get(link.json()["path"])
        denied = await served.http.delete("/api/v1/providers/fake/key", headers=key)
        missing = await served.http.delete("/api/v1/traces/unknown", headers=key)
        deleted = await served.http.delete(trace, headers=key)
        for query in ("status:error", f"trace:{kept['trace_id']}"):  # the first finds nothing
            chosen = {"rows": "spans", "query": query}
            await served.http.post("/api/v1/selections/delete", json=chosen, headers=key)
    assert [answer.status_code for answer in (exported, downloaded, denied, missing)] == [
        200, 200, 403, 404,
    ]  # fmt: skip
    assert deleted.is_success
    entries = [
        (entry["action"], entry["who"], entry["subject"], entry["address"])
        for entry in reversed(audited(home))
        if entry["who"] != "command line"
    ]
    assert entries == [
        ("export", "key cleaner", "GET /api/v1/exports/spans", "127.0.0.1"),
        ("export", "key cleaner", "GET /api/v1/exports/runs", "127.0.0.1"),
        ("deletion", "key cleaner", f"DELETE {trace}", "127.0.0.1"),
        ("deletion", "key cleaner",
         f"POST /api/v1/selections/delete spans: trace:{kept['trace_id']}", "127.0.0.1"),
    ]  # fmt: skip


async def test_server_without_identities_writes_no_audit_log(repo: Path) -> None:
    home = repo.parent / "home"
    async with serving(repo) as served:
        await served.http.get("/api/v1/exports/spans?format=csv")
        wrong = await served.http.get("/api/v1/tools", headers={"X-Api-Key": "tdl_wrong"})
        assert wrong.status_code == 401
    assert not list(home.rglob("identity.db*"))
