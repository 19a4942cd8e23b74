"""A plain printer of the same answer: `rich.live` shows the whole answer as Markdown again.

Run: python -m bench.terminal.printer LINES, with the provider in TREADLE_BASE_URL.
"""

import json
import os
import sys

import httpx2
from rich.live import Live
from rich.markdown import Markdown


def main() -> None:
    text = ""
    body = {
        "model": "fake-model", "stream": True,
        "messages": [{"role": "user", "content": f"lines {sys.argv[1]}"}],
    }  # fmt: skip
    address = f"{os.environ['TREADLE_BASE_URL']}/chat/completions"
    with (
        Live(vertical_overflow="visible", auto_refresh=False) as live,
        httpx2.stream("POST", address, json=body, timeout=600) as reply,
    ):
        for line in reply.iter_lines():
            if line.startswith("data: {"):
                for choice in json.loads(line[6:])["choices"]:
                    text += choice["delta"].get("content") or ""
                live.update(Markdown(text), refresh=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
