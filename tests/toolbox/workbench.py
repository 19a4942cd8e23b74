"""Every tool of a repository with files and records in it, called as a session calls it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.toolbox.traces.recordings import model_call, tool_call
from treadle.app.application import App, open_app
from treadle.config.model import Settings
from treadle.events import Outcome
from treadle.events.types import CallKey, ToolCallCompleted, ToolCallRequested
from treadle.ids import new_id
from treadle.session.tool_results import result_message
from treadle.tools.executor import Caller

WRITING = ("create_file", "delete_file", "rename_file", "apply_experiment_data", "run_experiment")
ALLOWED = {
    "approvals": {"allow": [*WRITING, "run_check", "run_command"]},
    "edits": {"auto_approve": ["**"]},
}


@dataclass(frozen=True, slots=True)
class Workbench:
    """The tools, and one call of each that brings a large answer where it can."""

    app: App

    async def outcome(
        self, name: str, arguments: dict[str, Any] | str, max_tokens: int | None = None
    ) -> Outcome:
        request = ToolCallRequested(
            request_id=new_id(),
            key=CallKey(0, 0),
            call_id="call_1",
            vendor="test",
            name=name,
            arguments=arguments if isinstance(arguments, str) else json.dumps(arguments),
            max_tokens=max_tokens,
        )
        executor = self.app.executor
        call = executor.open(request, Caller(self.app.registry))
        await executor.start(call)
        return await asyncio.wait_for(call.outcome, 60)

    async def message(self, name: str, arguments: dict[str, Any], max_tokens: int) -> str:
        """The text that a model is given."""
        return (
            await result_message(await self.outcome(name, arguments, max_tokens), max_tokens)
        ).content

    async def ok(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        outcome = await self.outcome(name, arguments)
        assert isinstance(outcome, ToolCallCompleted), outcome
        result: dict[str, Any] = json.loads(outcome.content)
        return result


LARGE: dict[str, dict[str, Any]] = {
    "request_code_context": {"token_budget": 90_000, "hint": "weave the total"},
    "read_file": {"path": "loom/big.py", "max_tokens": 100_000},
    "list_dir": {"path": "loom", "max_tokens": 100_000},
    "grep": {"pattern": "total", "max_tokens": 100_000, "context_lines": 2},
    "get_file_metadata": {"path": "loom/" + "missing" * 40},
    "code_item_lookup": {"name": "total", "max_tokens": 100_000},
    "code_item_edges": {"name": "Loom.total", "max_tokens": 100_000},
    "apply_code_edit": {
        "edits": [
            {"file": f"loom/weave{n}.py", "replace": {"old": "total = 0", "new": "total = 1"}}
            for n in range(40)
        ]
    },
    "apply_patch": {"diff": "--- a/none.py\n+++ b/none.py\n@@ -1 +1 @@\n-a\n+b\n" * 50},
    "create_file": {"path": "new/long.py", "content": "x = 1\n" * 5_000},
    "delete_file": {"path": "loom/gone.py"},
    "rename_file": {"path": "loom/weave1.py", "target": "loom/renamed.py"},
    "run_check": {},
    "update_plan": {
        "steps": [{"id": str(n), "text": "step " * 40, "state": "open"} for n in range(30)]
    },
    "run_command": {"command": "seq 1 60000", "max_tokens": 100_000},
    "read_output": {"id": "c1", "max_tokens": 100_000},
    "stop_command": {"id": "c1", "max_tokens": 100_000},
    "ask_code": {"questions": ["Where is the total?"] * 8},
    "fetch_runs": {"limit": 200, "maxTokens": 100_000},
    "fetch_spans": {"limit": 200, "maxTokens": 100_000},
    "get_run_details": {"runId": "t1", "maxTokens": 100_000},
    "fetch_groups": {"groupBy": "operation", "maxTokens": 100_000},
    "fetch_spans_summary": {"runIds": ["t1"], "maxTokens": 100_000},
    "get_span_content": {"spanIds": ["m1", "m2", "c3"], "maxTokens": 100_000},
    "list_labels": {"limit": 500, "maxTokens": 100_000},
    "search_spans": {"query": "wool", "limit": 100, "maxTokens": 100_000},
    "analyze_with_llm": {"spanIds": ["missing"] * 900, "focus": "errors"},
    "is_valid_for_optimize": {"spanId": "m1"},
    "get_experiment_data": {"spanId": "m1", "maxTokens": 100_000},
    "apply_experiment_data": {"spanId": "m1", "data": {"temperature": 0.5}},
    "evaluate_experiment_results": {"maxTokens": 100_000},
    "run_experiment": {"n": 1},
    "get_collapsed_spans": {},
    "navigate_to": {"url": "/runs/" + "t" * 300},
    "navigate_to_experiment": {"spanId": "m1"},
    "apply_label_filter": {"labels": ["team-red"] * 10, "action": "set"},
}
"""For each tool a call whose answer is large, or would be without a limit."""


def fill(root: Path) -> None:
    """Files with many items and long lines."""
    (root / "loom").mkdir(parents=True)
    for number in range(40):
        body = "".join(f"    total += {place}  # Ünïcödé 漢字\n" for place in range(40))
        head = "def spin():\n    pass\n\n\n"
        text = f"{head}def weave{number}():\n    total = 0\n{body}    return total\n"
        (root / f"loom/weave{number}.py").write_text(text)
    members = "".join(f"    def total{n}(self):\n        return self.total()\n" for n in range(200))
    loom = f"class Loom:\n    def total(self):\n        return 1\n{members}"
    (root / "loom/big.py").write_text(loom)
    (root / "loom/gone.py").write_text("gone = True\n" * 3_000)
    (root / "loom/line.txt").write_text("total 🧵 " * 30_000)


def records(app: App) -> None:
    """Spans with long texts, faults and labels."""
    store = app.recording.store
    assert store is not None
    spans = []
    for number in range(60):
        said = [{"role": "user", "content": f"Spin wool {number}. " + "wool and cloth " * 400}]
        reply = {"role": "assistant", "content": "Network error 503 🧵 " * 200}
        label = f"label-{number}"
        spans += [
            model_call(f"s{number}", at=number, trace_id=f"t{number + 2}"),
            model_call(f"m{number}", at=number, messages=said, reply=reply, labels=(label,)),
            tool_call(f"c{number}", at=number, result='{"error": "not found"}' * 300),
        ]
    store.write(spans).result()


@asynccontextmanager
async def workbench(root: Path) -> AsyncIterator[Workbench]:
    """The tools of a filled repository; the caller has set `TREADLE_HOME`."""
    fill(root)
    settings = Settings.model_validate(ALLOWED)
    async with open_app(root, settings=settings) as app:
        await asyncio.to_thread(app.index.refresh)
        await asyncio.to_thread(records, app)
        yield Workbench(app)
