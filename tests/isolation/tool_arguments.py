"""The arguments with which the isolation test calls each tool. See `requests.py`."""

from collections.abc import Mapping
from typing import Any, Final

_FILTERS: Final = {
    "threadIds": ["{thread}"], "runIds": ["{run}"], "labels": ["{label}"], "where": "{word}",
}  # fmt: skip
_GROUPED: Final = {name: _FILTERS[name] for name in ("threadIds", "labels", "where")}
_EDIT: Final = {"file": "{file}", "replace": {"old": "left + right", "new": "left"}}

TOOLS: Final[Mapping[str, list[dict[str, Any]]]] = {
    "request_code_context": [{"token_budget": 1000, "hint": "{item}"}],
    "read_file": [{"path": "{file}"}, {"path": "{root}/{file}"}],
    "list_dir": [{"path": "{root}"}],
    "grep": [{"pattern": "{item}", "glob": "{file}"}, {"pattern": "x", "path": "{root}"}],
    "get_file_metadata": [{"path": "{file}"}, {"path": "{root}/{file}"}],
    "code_item_lookup": [{"name": "{item}", "file": "{file}"}],
    "code_item_edges": [{"name": "{item}", "file": "{file}"}],
    "apply_code_edit": [
        {"edits": [_EDIT]},
        {"edits": [_EDIT | {"file": "{root}/{file}"}]},
        {"edits": [{"file": "{file}", "item": {"canonical_path": "{item}", "code": "x = 1\n"}}]},
    ],
    "apply_patch": [
        {"diff": "--- a/{file}\n+++ b/{file}\n@@ -1,1 +1,1 @@\n-def x():\n+def y():\n"}
    ],
    "create_file": [{"path": "{root}/new.py", "content": "x = 1\n"}],
    "delete_file": [{"path": "{file}"}, {"path": "{root}/{file}"}],
    "rename_file": [{"path": "{file}", "target": "new.py"}, {"path": "x", "target": "{root}/new"}],
    "run_check": [{"check": "{check}"}, {"proposal": "{proposal}"}, {"paths": ["{file}"]}],
    "update_plan": [{"steps": [{"id": "1", "text": "Read it", "state": "open"}]}],
    "run_command": [
        {"command": "cat {file}"}, {"command": "cat {root}/{file}"},
        {"command": "ls", "folder": "{root}"},
    ],
    "read_output": [{"id": "c1"}],
    "stop_command": [{"id": "c1"}],
    "ask_code": [{"questions": ["Where is it?"]}],
    "fetch_runs": [{**_FILTERS, "modelName": "{model}"}, *({k: v} for k, v in _FILTERS.items())],
    "fetch_spans": [{"spanIds": ["{span}"]}, {"parentSpanIds": ["{span}"]}, _FILTERS],
    "get_run_details": [{"runId": "{run}"}],
    "fetch_groups": [
        {"groupBy": ["model"], "modelName": "{model}"}, {"groupBy": ["label"], **_GROUPED},
    ],
    "fetch_spans_summary": [_FILTERS],
    "get_span_content": [{"spanIds": ["{span}"]}, {"spanIds": ["{span_path}"], "raw": True}],
    "list_labels": [{"threadId": "{thread}"}],
    "search_spans": [{"query": "{word}"}, {"query": "sings", **_FILTERS}],
    "analyze_with_llm": [{"spanIds": ["{span}"]}],
    "is_valid_for_optimize": [{"spanId": "{span}"}],
    "get_experiment_data": [{"experimentId": "{experiment}"}, {"spanId": "{span}"}],
    "evaluate_experiment_results": [{"experimentId": "{experiment}"}],
    "apply_experiment_data": [
        {"experimentId": "{experiment}", "data": {"system": "x"}},
        {"spanId": "{span}", "data": {"system": "x"}},
    ],
    "run_experiment": [{"experimentId": "{experiment}", "n": 1}],
    "get_collapsed_spans": [{}],
    "navigate_to": [{"url": "/runs/{run}"}],
    "navigate_to_experiment": [{"spanId": "{span}"}],
    "apply_label_filter": [{"labels": ["{label}"], "action": "set", "view": "runs"}],
}  # fmt: skip

PLAIN: Final = frozenset({
    "token_budget", "start_line", "end_line", "max_tokens", "include_ignored", "offset", "literal",
    "ignore_case", "context_lines", "kind", "direction", "edges", "depth", "edits",
    "expected_hash", "item", "code", "replace", "old", "new", "all", "range", "start", "end",
    "lines", "first", "last", "content", "on_exists", "status", "period", "since", "until", "own",
    "limit", "cursor", "maxTokens", "operationNames", "groupBy", "bucketSize", "raw", "fields",
    "focus", "data", "n", "action", "view", "steps", "text", "state", "seconds", "background",
    "wait", "questions", "id",
})  # fmt: skip
"""Names of arguments that are never ids of stored things."""
