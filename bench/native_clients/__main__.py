"""Run the client libraries of Anthropic and Google through the gateway.

Run: python -m bench.native_clients [--environments FOLDER] [--record]

Each client runs its program of `programs` in its own environment. The program starts with the lines
of the client in `docs/gateway.md`, and prints what the client understood of the answers. A fake
provider gives known answers. `--record` writes the requests as fixtures for the tests.
"""

import argparse
import asyncio
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.environments import environment
from tests.fakes.provider import FakeProvider, RecordedRequest
from tests.fakes.replies import Script
from tests.gateway.native_replies import ANSWER, CITY, anthropic_replies, gemini_replies
from tests.gateway.running import running, settings

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "tests" / "gateway" / "recorded"
PAGE = ROOT / "docs" / "gateway.md"
_SECONDS = 120
_KEPT = frozenset({"anthropic-version", "x-thread-id", "content-type"})
"""The headers in a recording. The others describe the machine or the connection."""


@dataclass(frozen=True, slots=True)
class Client:
    """A client library, its API, and what its program prints if all answers are understood."""

    name: str
    package: str
    api: str
    replies: Callable[[], list[Script]]
    understood: list[Any]


CLIENTS = (
    Client(
        "anthropic", "anthropic==2.14.0", "anthropic", anthropic_replies,
        [
            "Hello", ["get_weather", {"city": CITY}, 64], ANSWER, [{"city": CITY}, 20], 7,
            "rate limited",
        ],
    ),
    Client(
        "google_genai", "google-genai==3.6.1", "gemini", gemini_replies,
        [
            "Hello", ["get_weather", {"city": CITY}, 64], ANSWER, ANSWER, [0.5, 0.25, 1.0], 7,
            "rate limited",
        ],
    ),
)  # fmt: skip


def lines_of_page(name: str) -> str:
    """The lines of a client in the page of the gateway. They begin with its import."""
    module = "from google import genai" if name == "google_genai" else f"import {name}"
    found = re.finditer(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    blocks = [str(match[1]) for match in found]
    return next(block for block in blocks if block.startswith(module))


async def _run(client: Client, folder: Path, *, record: bool) -> bool:
    programs = await asyncio.to_thread(environment, folder / client.name, [client.package])
    async with FakeProvider(client.replies(), strict=False) as provider:
        config = settings(provider, models=())
        table = config.providers["fake"].model_copy(update={"native_api": client.api})
        config = config.model_copy(update={"providers": {"fake": table}})
        async with running(folder / f"data-{client.name}", config) as gateway:
            understood = await _understood(client, programs, gateway.url)
    exact = understood == client.understood
    print(f"{client.package}: {'exact' if exact else f'got {understood}'}")
    if record:  # without the gateway, which does not forward all headers
        async with FakeProvider(client.replies(), strict=False) as provider:
            await _understood(client, programs, provider.base_url)
        _write(client, provider.requests)
    return exact


async def _understood(client: Client, programs: Path, url: str) -> object:
    """What the client understands of the answers at an address that ends with `/v1`."""
    lines = lines_of_page(client.name).replace("http://127.0.0.1:7070", url.removesuffix("/v1"))
    process = await asyncio.create_subprocess_exec(
        str(programs / "python"),
        str(Path(__file__).parent / "programs" / f"{client.name}_calls.py"),
        env={**os.environ, "LINES_OF_PAGE": lines},
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await asyncio.wait_for(process.communicate(), _SECONDS)
    return json.loads(out) if process.returncode == 0 else None


def _write(client: Client, requests: list[RecordedRequest]) -> None:
    calls = [
        {
            "path": request.path,
            "headers": {n: v for n, v in sorted(request.headers.items()) if n in _KEPT},
            "body": request.body,
        }
        for request in requests
    ]
    lines = lines_of_page(client.name)
    content = {"package": client.package, "lines": lines, "requests": calls}
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    (RECORDED / f"{client.name}.json").write_text(text, encoding="utf-8")


async def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--environments", type=Path, default=None)
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    folder = options.environments or Path(tempfile.mkdtemp())
    exact = [await _run(client, folder, record=options.record) for client in CLIENTS]
    return 0 if all(exact) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(_main()))
