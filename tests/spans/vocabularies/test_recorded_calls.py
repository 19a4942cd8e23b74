"""Spans that other libraries sent for known calls have the true figures.

Each file of `recorded` has some spans of one library as it exported them, without details of the
machine. `truth` has the figures of the provider's replies and of the tools, which were written down
at their source. `lacks` names the figures that the library does not send.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from treadle.spans.ingest import ingest
from treadle.spans.otlp import decode_json, decode_log_json
from treadle.spans.span import Span
from treadle.traces import TraceStore

FOLDER = Path(__file__).parent / "recorded"
FILES = sorted(file.stem for file in FOLDER.glob("*.json"))


def stored_spans(recorded: Mapping[str, Any], folder: Path) -> dict[str, Span]:
    """The spans of a recording, as the store returns them."""
    store = TraceStore.open(folder / "traces.db")
    try:
        for name, decode in (("logs", decode_log_json), ("request", decode_json)):
            if name in recorded:
                _, stored = ingest(json.dumps(recorded[name]).encode(), decode, store)
                assert stored is not None
                stored.result()
        found = [store.span(row.trace_id, row.span_id) for row in store.spans(limit=1_000).data]
        return {span.span_id: span for span in found if span is not None}
    finally:
        store.close()


def decoded(text: Any) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return text


def text_of(content: Any) -> str:
    """The text of a message, with a mark for each image."""
    if not isinstance(content, list):
        return content or ""
    return "\n".join(part["text"] if part["type"] == "text" else "<image>" for part in content)


def plain(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message in the form of `truth`, without empty fields."""
    text: Any = text_of(message.get("content"))
    calls = [
        [call["id"], call["function"]["name"], decoded(call["function"]["arguments"])]
        for call in message.get("tool_calls", ())
    ]
    role = "system" if message["role"] == "developer" else message["role"]
    fields = {
        "role": role,
        "text": decoded(text) if role == "tool" else text,
        "calls": calls,
        "of": message.get("tool_call_id"),
    }
    return {name: value for name, value in fields.items() if value not in (None, [], "")}


def figure(span: Span, name: str, wanted: Any) -> Any:
    """The recorded value of a figure of `truth`."""
    match name:
        case "tokens":
            return {each: getattr(span.tokens, each) or 0 for each in wanted}
        case "cost":
            return None if span.cost is None else round(span.cost, 12)
        case "error":
            return wanted if wanted in (span.error or "") else span.error
        case "input" | "output":
            value = decoded(getattr(span, name))
            return [plain(each) for each in value] if span.kind == "model" and value else value
        case "reasoning":
            return decoded(span.output)[0]["reasoning_content"]
        case _:
            return getattr(span, name)


@pytest.mark.parametrize("library", FILES)
def test_every_figure_that_the_library_sends_is_exact(library: str, tmp_path: Path) -> None:
    recorded = json.loads((FOLDER / f"{library}.json").read_text("utf-8"))
    spans = stored_spans(recorded, tmp_path)
    wanted = {
        each["span_id"]: {name: value for name, value in each.items() if name != "span_id"}
        for each in recorded["truth"]
    }
    assert {
        span_id: {name: figure(spans[span_id], name, value) for name, value in figures.items()}
        for span_id, figures in wanted.items()
    } == wanted
