"""Runs `treadle serve` in a process, and calls it over HTTP."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from tests.cli.command import start, treadle


@dataclass(frozen=True, slots=True)
class Served:
    """A running server, and a client."""

    address: str
    token: str
    page: str
    """The link that gives a page access."""
    http: httpx2.AsyncClient
    pid: int
    terminated: asyncio.Event = field(default_factory=asyncio.Event)

    async def terminate(self) -> None:
        """Send SIGTERM, and wait until the server is no longer ready."""
        self.terminated.set()
        os.kill(self.pid, signal.SIGTERM)
        async with asyncio.timeout(60):
            while (await self.http.get("/readyz")).status_code == 200:  # noqa: ASYNC110  (a process)
                await asyncio.sleep(0.01)

    async def get(self, path: str, **parameters: Any) -> Any:
        """The JSON of a successful answer."""
        answer = await self.http.get(f"/api/v1{path}", params=parameters)
        assert answer.is_success, answer.text
        return answer.json()

    async def post(self, path: str, body: object = None) -> Any:
        """The JSON of a successful change."""
        answer = await self.http.post(f"/api/v1{path}", json=body)
        assert answer.is_success, answer.text
        return answer.json()

    async def ended(self, request_id: str) -> Any:
        """A turn after its end."""
        turn = await self.get(f"/turns/{request_id}", wait=50)
        assert turn["state"] != "running"
        return turn

    async def span(self, trace_id: str, span_id: str) -> Any:
        """A span of an ended turn, as soon as the recorder has stored it."""
        for _ in range(600):
            if (await self.http.get(f"/api/v1/spans/{trace_id}/{span_id}")).is_success:
                break
            await asyncio.sleep(0.05)
        return await self.get(f"/spans/{trace_id}/{span_id}")


def allow_other_machines(home: Path) -> None:
    """Create a key, without which a server refuses to listen beyond loopback."""
    if (home / "data" / "identity.db").exists():
        return
    created = treadle("keys", "create", "key of this test", home=home)
    assert created.status == 0, created.err


@asynccontextmanager
async def serving(
    repo: Path, *options: str, warning: str = "", **env: str
) -> AsyncIterator[Served]:
    """Serve `repo` on a free port until this is left. The process must end with status 0.

    It must print nothing to standard error, or else one line with `warning`.
    """
    home = repo.parent / "home"
    if "--host" in options:
        allow_other_machines(home)
    process = await start("serve", "--port", "0", "--json", *options, home=home, repo=repo, **env)
    served = None
    assert process.stdout is not None
    line = await asyncio.wait_for(process.stdout.readline(), 60)
    assert line, (await process.communicate())[1].decode()
    try:
        ready = json.loads(line)
        async with httpx2.AsyncClient(base_url=ready["address"], timeout=60) as http:
            served = Served(ready["address"], ready["token"], ready["page"], http, process.pid)
            yield served
    finally:
        if process.returncode is None and (served is None or not served.terminated.is_set()):
            process.send_signal(signal.SIGINT)
        _, err = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0, err.decode()
    assert (warning in err.decode()) if warning else not err, err.decode()
