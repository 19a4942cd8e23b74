"""The OpenAPI document: the answers of routes, and names for generated clients."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from treadle.config.loader import LoadedConfig
from treadle.config.model import Settings
from treadle.server import create_app

_NAMES = ("threads", "runs", "spans", "groups", "html", "html_of_several")
FILES = {f"trace_exports_{name}" for name in _NAMES}
OTLP = {"otlp_traces", "otlp_logs", "otlp_metrics"}
BARE = {"tools_call", "traces_blob", "probes_metrics", *OTLP, *FILES}
"""Their answers follow a protocol or the schema of a tool, or are not JSON."""


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    root: Path = tmp_path_factory.mktemp("root")
    return create_app(root, LoadedConfig(Settings(), {}), {}).openapi()


def _operations(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [operation for path in document["paths"].values() for operation in path.values()]


def test_every_answer_is_described_by_name(document: dict[str, Any]) -> None:
    for operation in _operations(document):
        told = {status: each for status, each in operation["responses"].items() if status[0] == "2"}
        assert told
        for status, answer in told.items():
            if status != "204" and operation["operationId"] not in BARE:
                (content,) = answer["content"].values()
                assert set(content["schema"]) == {"$ref"}, operation["operationId"]


def test_operations_have_unique_names_and_errors_one_schema(document: dict[str, Any]) -> None:
    operations = _operations(document)
    names = Counter(operation["operationId"] for operation in operations)
    assert {name: count for name, count in names.items() if count > 1} == {}
    error = {"schema": {"$ref": "#/components/schemas/ErrorAnswer"}}
    for operation in operations:
        if operation["operationId"] not in OTLP:
            for status in ("4XX", "5XX"):
                assert operation["responses"][status]["content"]["application/json"] == error
    assert "HTTPValidationError" not in document["components"]["schemas"]


def test_events_are_distinguished_by_type(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    event = schemas["Event"]
    assert event["discriminator"]["propertyName"] == "type"
    assert len(event["oneOf"]) > 30
    assert schemas["ToolCallFailedEvent"]["properties"]["type"]["const"] == "ToolCallFailed"
    assert set(schemas["NoticeEvent"]["required"]) == {
        "type", "seq", "at", "request_id", "parent_id", "level", "text",
    }  # fmt: skip
