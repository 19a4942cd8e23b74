"""A secret that enters through any interface is readable nowhere afterwards.

The test searches every file in the data folder and every answer over HTTP. Proposals are the
exception: they are private and contain the exact text of files.
"""

import base64
import contextlib
import json
import re
import sqlite3
import stat
from pathlib import Path
from typing import Any

import openai

from tests.fakes.provider import FakeProvider, Reply
from tests.fakes.replies import Answer, error
from tests.server.exports import export, span
from tests.server.serving import Served, serving

KEYS = {
    name: f"gh{'p'}_{letter * 3}aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vWx"
    for name, letter in zip(
        ("otlp", "attachment", "gateway", "reply", "refusal", "title", "question", "view", "place",
         "tool", "breakpoint", "experiment", "note", "label", "thread", "import", "resource"),
        "ABCDEFGHIJKLMNOPQ", strict=True,
    )
}  # fmt: skip
READ = (
    "/threads", "/runs", "/spans", "/search?q=aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vWx", "/labels",
    "/groups?group_by=label", "/groups?group_by=thread", "/facets", "/summary", "/sessions",
    "/views", "/ui", "/breakpoints", "/experiments", "/turns", "/health", "/findings",
    "/query/values?field=label", "/query/values?field=name", "/proposals", "/tools/statistics",
)  # fmt: skip


def configure(repo: Path, provider: FakeProvider) -> None:
    folder = repo.parent / "home" / "config"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(
        f'model = "fake/m"\n[providers.fake]\nbase_url = "{provider.base_url}"\n'
        'models = ["m"]\nmax_retries = 0\n[logs]\nlevel = "info"\n'
    )


async def plant(served: Served) -> None:
    """Send a key through every interface that accepts text."""
    text = "ordinary words before and behind it, so that it is a text. " * 30
    attached = base64.b64encode(f"{text}\ntoken {KEYS['attachment']}\n{text}".encode()).decode()
    told = span(1, text=f"my key {KEYS['otlp']}", name=f"span {KEYS['thread']}")
    told["attributes"] += [
        {"key": "gen_ai.prompt", "value": {"stringValue": f"data:text/plain;base64,{attached}"}},
        {"key": "label", "value": {"stringValue": KEYS["label"]}},
    ]
    sent = export(told)
    sent["resourceSpans"][0]["resource"]["attributes"].append(
        {"key": "process.command_line", "value": {"stringValue": f"run --token {KEYS['resource']}"}}
    )
    answer = await served.http.post("/v1/traces", json=sent)
    assert answer.is_success
    own = openai.AsyncOpenAI(base_url=f"{served.address}/v1", api_key="any", max_retries=0)
    message: Any = [{"role": "user", "content": f"use {KEYS['gateway']}"}]
    async with own:
        await own.chat.completions.create(model="fake/m", messages=message)
        with contextlib.suppress(openai.APIError):
            await own.chat.completions.create(model="fake/m", messages=message)
    turn = await served.post("/turns", {"text": f"What is {KEYS['title']}?\n{KEYS['question']}"})
    await served.ended(turn["request_id"])
    await served.post("/views", {"screen": "runs", "name": "v", "query": f'"{KEYS["view"]}"'})
    await served.http.patch("/api/v1/ui", json={"location": f"/runs?q={KEYS['place']}"})
    await served.http.post("/api/v1/tools/grep/call", json={"pattern": KEYS["tool"]})
    await served.post("/breakpoints", {"model": f"m/{KEYS['breakpoint']}"})
    runs = await served.get("/spans", kind="model")
    reference = f"{runs['data'][0]['trace_id']}/{runs['data'][0]['span_id']}"
    made = await served.post("/experiments", {"spans": [reference], "name": KEYS["experiment"]})
    patch = {"data": {"system": f"say {KEYS['note']}"}, "note": KEYS["note"]}
    changed = await served.http.patch(f"/api/v1/experiments/{made['id']}", json=patch)
    assert changed.is_success, changed.text


async def answers(served: Served) -> dict[str, str]:
    """The answers of all readable addresses, with those of single objects."""
    found = {path: (await served.http.get(f"/api/v1{path}")).text for path in READ}
    for each in json.loads(found["/spans"])["data"]:
        address = f"/spans/{each['trace_id']}/{each['span_id']}?whole=true"
        found[address] = (await served.http.get(f"/api/v1{address}")).text
    for each in json.loads(found["/experiments"])["data"]:
        for address in (f"/experiments/{each['id']}", f"/experiments/{each['id']}/export"):
            found[address] = (await served.http.get(f"/api/v1{address}")).text
    for each in json.loads(found["/sessions"])["data"]:
        address = f"/sessions/{each['id']}"
        found[address] = (await served.http.get(f"/api/v1{address}")).text
    return found


def readable(data: bytes) -> bytes:
    """The content of a file, with decoded base64."""
    runs = re.findall(rb"[A-Za-z0-9+/]{40,}", data)
    return b"\n".join([data, *(base64.b64decode(run[: len(run) // 4 * 4]) for run in runs)])


async def test_a_planted_secret_is_in_no_file_and_in_no_answer(repo: Path) -> None:
    replies: list[Reply] = [
        Answer(f"I see {KEYS['reply']}"),
        error(400, f"bad key {KEYS['refusal']}"),
        Answer(f"It is {KEYS['reply']}"),
    ]
    home = repo.parent / "home"
    async with FakeProvider(replies) as provider:
        configure(repo, provider)
        async with serving(repo) as served:
            await plant(served)
            said = await answers(served)
            events = await served.http.get("/api/v1/health")
    assert events.is_success
    tails = {name: key[4:] for name, key in KEYS.items()}
    for address, text in said.items():
        asked = address.partition("?")[2]
        leaked = [name for name, tail in tails.items() if tail in text and tail not in asked]
        assert not leaked, (address, leaked)
    kept = [path for path in (home / "data").rglob("*") if path.is_file()]
    assert {"traces.db", "conversations.db", "ui.db", "experiments.db"} <= {p.name for p in kept}
    for path in kept:
        data = readable(path.read_bytes())
        leaked = [name for name, tail in tails.items() if tail.encode() in data]
        assert not leaked, (path.name, leaked)
        if path.name in {"ui.db", "experiments.db", "conversations.db", "proposals.db"}:
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    # Compressed spans were read over HTTP before, and so were blobs.
    with sqlite3.connect(home / "data" / "traces.db") as file:
        assert file.execute("SELECT count(*) FROM spans").fetchone()[0] >= 4
    file.close()
