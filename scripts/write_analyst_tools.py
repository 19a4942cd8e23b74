"""Writes the answers in docs/analyst-tools.md: the results of the tools for the page's example."""

import asyncio
import json
import re
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from treadle.events import EventBus, Outcome
from treadle.events.types import ToolCallCompleted
from treadle.spans.span_files import read_spans
from treadle.toolbox.traces import trace_tools
from treadle.tools.contract import Registry
from treadle.tools.executor import ToolExecutor
from treadle.tools.failures import failure_content
from treadle.traces.store.trace_store import TraceStore

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = DOCS / "analyst-tools.md"
EXAMPLE = DOCS / "examples" / "flights.jsonl"

_FENCE_NAME = re.compile(r"recorded-[0-9a-f]{12}")
"""The names of fences differ between processes; the page shows one name."""
_CALL = re.compile(
    r"(?P<call>\$ treadle tools call (?P<name>\w+) --args '(?P<arguments>[^']*)'[^\n]*\n```\n\n)"
    r"```json\n.*?```",
    re.DOTALL,
)


def with_answers(page: str) -> str:
    """`page` with the block after each tool call replaced."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        with closing(TraceStore.open(path / "traces.db")) as store:
            for batch in read_spans(EXAMPLE):
                store.write(batch.spans).result()

            def answered(found: re.Match[str]) -> str:
                outcome = asyncio.run(_called(store, path, found["name"], found["arguments"]))
                shown = _FENCE_NAME.sub("recorded-5f0c9a1e62d4", _shown(outcome))
                return f"{found['call']}```json\n{shown}\n```"

            return _CALL.sub(answered, page)


async def _called(store: TraceStore, root: Path, name: str, arguments: str) -> Outcome:
    registry = Registry(trace_tools(store))
    async with ToolExecutor(EventBus(), registry, root) as executor:
        return await executor.call(name, arguments)


def _shown(outcome: Outcome) -> str:
    """The answer with a line for each of its keys, and for each entry of a list."""
    if isinstance(outcome, ToolCallCompleted):
        values = json.loads(outcome.content)
    else:
        values = json.loads(failure_content(outcome.error))
    lines = ",\n".join(f"  {_plain(key)}: {_value(value)}" for key, value in values.items())
    return f"{{\n{lines}\n}}"


def _value(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(f"    {_plain(each)}" for each in value) + "\n  ]"
    return _plain(value)


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def main() -> int:
    """Write the page."""
    PAGE.write_text(with_answers(PAGE.read_text("utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
