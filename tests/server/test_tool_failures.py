"""A failed tool call has the status of its kind over HTTP. Only internal errors are 500."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.server.serving import serving
from treadle.errors import ConfigError, NotFoundError, StoreError, UsageError
from treadle.events.types import HTTP_STATUS, ErrorKind
from treadle.tools.failures import kind_of

LARGE_PATTERN = "((((a{1,100}){1,100}){1,100}))"
BIG = 2**70

CALLS: tuple[tuple[str, Any, int, str], ...] = (
    ("read_file", {"path": "missing.py"}, 404, "not_found"),
    ("read_file", {"path": "calc.py/inner"}, 404, "not_found"),
    ("read_file", {"path": "../outside.py"}, 403, "permission"),
    ("read_file", {"path": ".env"}, 403, "denied"),
    ("read_file", {"path": "n" * 5_000}, 404, "not_found"),
    ("read_file", {"path": "calc.py", "start_line": BIG}, 422, "validation"),
    ("read_file", {}, 422, "validation"),
    ("read_file", {"path": "nul\0name"}, 403, "permission"),
    ("read_file", {"path": "\ud800"}, 422, "validation"),
    ("read_file", {"path": "."}, 422, "validation"),
    ("read_file", "{", 422, "parsing"),
    ("read_files", {}, 404, "unknown_tool"),
    ("list_dir", {"path": "calc.py"}, 422, "validation"),
    ("list_dir", {"path": "missing"}, 404, "not_found"),
    ("grep", {"pattern": LARGE_PATTERN}, 422, "validation"),
    ("grep", {"pattern": "("}, 422, "validation"),
    ("code_item_lookup", {"name": "nothing_like_it"}, 404, "not_found"),
    ("code_item_edges", {"name": "\ud800"}, 422, "validation"),
    ("create_file", {"path": "calc.py", "content": "x"}, 409, "conflict"),
    ("create_file", {"path": "n" * 5_000, "content": "x"}, 422, "validation"),
    ("apply_code_edit", {"edits": []}, 422, "validation"),
    ("apply_patch", {"diff": "no diff"}, 422, "parsing"),
    ("delete_file", {"path": "missing.py"}, 404, "not_found"),
    ("run_check", {"check": "missing"}, 404, "not_found"),
    ("get_run_details", {"runId": "missing"}, 404, "not_found"),
    ("fetch_runs", {"offset": BIG}, 422, "validation"),
    ("fetch_runs", {"since": "no time"}, 422, "validation"),
    ("fetch_spans", {"spanIds": ["\ud800"]}, 200, ""),
    ("search_spans", {"query": "or " * 3_000}, 422, "validation"),
    ("search_spans", {"query": "(" * 3_000}, 200, ""),
    ("is_valid_for_optimize", {"spanId": "missing"}, 200, ""),
    ("get_experiment_data", {"experimentId": "missing"}, 404, "not_found"),
    ("apply_experiment_data", {"data": {}}, 403, "denied"),
    ("run_experiment", {}, 403, "denied"),
)


async def test_a_failed_call_has_the_status_of_its_kind(repo: Path) -> None:
    (repo / ".env").write_text("KEY=1")
    wrong: list[object] = []
    async with serving(repo) as served:
        for name, arguments, status, kind in CALLS:
            body = arguments if isinstance(arguments, str) else json.dumps(arguments)
            answer = await served.http.post(f"/api/v1/tools/{name}/call", content=body)
            told = answer.json()
            if (answer.status_code, told.get("kind", "")) != (status, kind):
                wrong.append((name, body[:60], answer.status_code, told))
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("kind", ErrorKind)
def test_only_internal_errors_have_status_500(kind: ErrorKind) -> None:
    assert 400 <= HTTP_STATUS[kind] < 600
    assert (HTTP_STATUS[kind] == 500) == (kind is ErrorKind.INTERNAL)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (UsageError("x"), ErrorKind.VALIDATION),
        (ConfigError("x"), ErrorKind.UNAVAILABLE),
        (NotFoundError("x"), ErrorKind.NOT_FOUND),
        (StoreError("x"), ErrorKind.UNAVAILABLE),
        (OSError(36, os.strerror(36)), ErrorKind.VALIDATION),
        (NotADirectoryError(), ErrorKind.NOT_FOUND),
        (IsADirectoryError(), ErrorKind.VALIDATION),
        (OSError(28, os.strerror(28)), ErrorKind.UNAVAILABLE),
        (ZeroDivisionError(), ErrorKind.INTERNAL),
        (RuntimeError("x"), ErrorKind.INTERNAL),
    ],
)
def test_input_and_system_errors_are_not_internal(error: Exception, kind: ErrorKind) -> None:
    assert kind_of(error) is kind
