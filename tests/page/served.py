"""`treadle serve` for the page tests, with real data created through its public interfaces."""

import asyncio
import json
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from tests.cli.command import environment, start_of
from tests.fakes.provider import FakeProvider, Reply
from tests.server.exports import binary, export
from tests.server.serving import allow_other_machines

SOURCE = 'def add(left, right):\n    """Sum of two numbers."""\n    return left + right\n'
SETTINGS = """
model = "fake/m"
[providers.fake]
base_url = "{base_url}"
models = ["m"]
max_retries = 0
"""


@dataclass(frozen=True, slots=True)
class Served:
    """A running server, the repository that it serves, and the provider that it calls."""

    address: str
    token: str
    page: str
    """The link that gives a page access."""
    repo: Path
    http: httpx2.Client
    provider: FakeProvider

    def get(self, path: str, **parameters: Any) -> Any:
        """The JSON of an answer that must be a success."""
        answer = self.http.get(f"/api/v1{path}", params=parameters)
        assert answer.is_success, answer.text
        return answer.json()

    def post(self, path: str, body: object = None) -> Any:
        """The same for a request that changes something."""
        answer = self.http.post(f"/api/v1{path}", json=body)
        assert answer.is_success, answer.text
        return answer.json()

    def take_spans(self, *spans: dict[str, Any]) -> None:
        """Send spans (`tests.server.exports.span`) as an exporter does: OTLP, protobuf."""
        headers = {"Content-Type": "application/x-protobuf"}
        answer = self.http.post("/v1/traces", content=binary(export(*spans)), headers=headers)
        assert answer.is_success, answer.text

    def call_gateway(
        self, text: str, *replies: Reply, headers: dict[str, str] | None = None
    ) -> str:
        """Ask the model `m` through the gateway with OpenAI's own client; returns the answer."""
        import openai

        self.provider.add(*replies)
        with openai.OpenAI(
            base_url=f"{self.address}/v1", api_key="any", max_retries=0, default_headers=headers
        ) as client:
            done = client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": text}]
            )
        return done.choices[0].message.content or ""

    def ask(self, text: str, *replies: Reply) -> Any:
        """A complete turn of a session: the provider plays the replies."""
        self.provider.add(*replies)
        begun = self.post("/turns", {"text": text})
        turn = self.get(f"/turns/{begun['request_id']}", wait=50)
        assert turn["state"] == "done", turn
        return turn

    def stage(self, old: str, new: str) -> str:
        """A proposal for `calc.py` that waits for an answer; returns its id."""
        edits = {"edits": [{"file": "calc.py", "replace": {"old": old, "new": new}}]}
        result = self.post("/tools/apply_code_edit/call", edits)
        assert result["state"] == "staged", result
        return str(result["proposal_id"])


@contextmanager
def serving(
    folder: Path,
    replies: Sequence[Reply] = (),
    *options: str,
    settings: str = SETTINGS,
    **env: str,
) -> Iterator[Served]:
    """Serve a small repository in `folder`, with a separate home and a fake provider.

    `settings` is the configuration, with `{base_url}` for the provider's address.
    """
    repo, home = folder / "repo", folder / "home"
    if "--host" in options:
        allow_other_machines(home)
    (home / "config").mkdir(parents=True, exist_ok=True)
    repo.mkdir()
    (repo / "calc.py").write_text(SOURCE)
    with playing(replies) as provider:
        (home / "config" / "config.toml").write_text(settings.format(base_url=provider.base_url))
        command = [*start_of(env), "serve", "--port", "0", "--json"]
        process = subprocess.Popen(
            [*command, *options, "--repo", str(repo)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=(errors := (folder / "errors.txt").open("w+")),
            env=environment(home, **env),
            text=True,
        )
        assert process.stdout is not None
        try:
            line = process.stdout.readline()  # it ends with the process at the latest
            assert line, (folder / "errors.txt").read_text()
            ready = json.loads(line)
            address = ready["address"].replace("0.0.0.0", "127.0.0.1")
            headers = {"Authorization": f"Bearer {ready['token']}"}
            with httpx2.Client(base_url=address, timeout=60, headers=headers) as http:
                yield Served(address, ready["token"], ready["page"], repo, http, provider)
        finally:
            process.terminate()
            process.communicate(timeout=60)
            errors.close()
    ended = process.returncode, (folder / "errors.txt").read_text()
    assert ended == (0, ""), ended


@contextmanager
def playing(replies: Sequence[Reply]) -> Iterator[FakeProvider]:
    """The provider on a separate loop: Playwright occupies that of this thread."""
    begun: Future[tuple[FakeProvider, asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def play() -> None:
        ended = asyncio.Event()
        async with FakeProvider(replies) as provider:
            begun.set_result((provider, asyncio.get_running_loop(), ended))
            await ended.wait()

    with ThreadPoolExecutor(1) as thread:
        played = thread.submit(asyncio.run, play())
        provider, loop, ended = begun.result(timeout=30)
        try:
            yield provider
        finally:
            loop.call_soon_threadsafe(ended.set)
            played.result(timeout=30)  # raises if it received an invalid request
