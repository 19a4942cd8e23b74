"""Spans as an exporter sends them, with parents, failures and content."""

import json
import time
from typing import Any

from tests.page.served import Served
from tests.server.exports import export


def exported(
    number: int,
    name: str,
    *,
    trace: int,
    parent: int | None = None,
    error: str | None = None,
    seconds_ago: float = 1.0,
    ended: bool = True,
    **attributes: Any,
) -> dict[str, Any]:
    """An OTLP/JSON span of 200 ms; attribute names use `__` for a dot."""
    start = time.time_ns() - int(seconds_ago * 1e9)
    written = {key.replace("__", "."): value for key, value in attributes.items()}
    return {
        "traceId": f"{trace:032x}",
        "spanId": f"{number:016x}",
        "name": name,
        "kind": 3,
        "startTimeUnixNano": str(start),
        "attributes": [
            {"key": key, "value": {"stringValue": _text(value)}} for key, value in written.items()
        ],
        **({"endTimeUnixNano": str(start + 200_000_000)} if ended else {}),
        **({"parentSpanId": f"{parent:016x}"} if parent is not None else {}),
        **({"status": {"code": 2, "message": error}} if error else {}),
    }


def message(role: str, text: str) -> list[dict[str, Any]]:
    """A message in the form of the OpenTelemetry conventions."""
    return [{"role": role, "parts": [{"type": "text", "content": text}]}]


def failed_run(run: str, *, trace: int, thread: str = "exports") -> list[dict[str, Any]]:
    """An agent that calls a model, whose tool then fails."""
    shared: dict[str, Any] = {"run.id": run, "gen_ai.conversation.id": thread, "label": "nightly"}
    first = trace * 100
    agent = exported(
        first,
        "invoke_agent coder",
        trace=trace,
        error="the check failed",
        gen_ai__operation__name="invoke_agent",
        gen_ai__input__messages=message("user", f"Why does {run} fail?"),
        gen_ai__output__messages=message("assistant", "The importer stops at an empty date."),
        **shared,
    )
    call = exported(
        first + 1,
        "chat small",
        trace=trace,
        parent=first,
        seconds_ago=0.9,
        gen_ai__operation__name="chat",
        gen_ai__request__model="small",
        gen_ai__input__messages=message("user", "Look at the importer"),
        gen_ai__output__messages=message("assistant", "The importer reads rows."),
        **shared,
    )
    tool = exported(
        first + 2,
        "execute_tool run_check",
        trace=trace,
        parent=first,
        error="Timeout: longer than 30 s",
        seconds_ago=0.6,
        gen_ai__operation__name="execute_tool",
        gen_ai__tool__name="run_check",
        gen_ai__tool__call__arguments={"command": "pytest importer"},
        gen_ai__tool__call__result="no result",
        **shared,
    )
    return [agent, call, tool]


def send(served: Served, *spans: dict[str, Any]) -> None:
    """Export them as JSON."""
    answer = served.http.post("/v1/traces", json=export(*spans))
    assert answer.is_success, answer.text


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
