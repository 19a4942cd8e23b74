"""The requests that the isolation test sends to each route and each tool.

A word in braces, such as `{session}`, is the place of an id of that kind. Every other name of a
parameter must be in `PLAIN`: the test fails for a name that it does not know.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tests.isolation.world import Kind

Template = str | dict[str, Any]
"""The query of a request, or its body as JSON."""

PATH_IDS: Final[Mapping[str, Kind]] = {
    "session": Kind.SESSION,
    "conversation": Kind.AGENT_SESSION,
    "request_id": Kind.TURN,
    "approval_id": Kind.APPROVAL,
    "permission_id": Kind.PERMISSION,
    "batch_reference": Kind.BATCH,
    "run_id": Kind.RUN,
    "trace_id": Kind.TRACE,
    "thread_id": Kind.THREAD,
    "ids": Kind.SPAN_PATH,
    "digest": Kind.BLOB,
    "held_id": Kind.HELD_CALL,
    "breakpoint_id": Kind.BREAKPOINT,
    "view_id": Kind.VIEW,
    "ui_id": Kind.UI_REQUEST,
    "tools/name": Kind.TOOL,
    "checks/name": Kind.CHECK,
    "agents/name": Kind.AGENT,
    "providers/name": Kind.PROVIDER,
    "proposals/reference": Kind.PROPOSAL,
    "experiments/reference": Kind.EXPERIMENT,
    "exports/reference": Kind.TRACE,
    "span_id": Kind.SPAN,
    "media_id": Kind.MEDIA,
    "image_id": Kind.MEDIA,
}
"""The kind of each path parameter.

Some names mean different kinds in different routes. Before such a name, the key contains the first
part of the path.
"""

PATH_VALUES: Final[Mapping[str, str]] = {"turn": "0", "slot": "0", "subtype": "png"}
"""The values of the path parameters that are never ids."""

_FILTERS = (
    "trace_ids={trace}", "span_ids={span}", "parent_span_ids={span}", "run_ids={run}",
    "thread_ids={thread}", "labels={label}", "labels_all={label}", "labels_not={label}",
    "model={model}", "provider={provider}", "user={user}", "release={word}", "text={word}",
    "query={word}",
)  # fmt: skip


def _filtered(first: str = "") -> list[Template]:
    """A request with all filters at once. Three routes below try each filter alone."""
    return [first + "&".join(_FILTERS)]


ROUTES: Final[Mapping[str, list[Template]]] = {
    "GET /api/v1/code/search": ["q={item}", "q=x&repo={root}"],
    "GET /api/v1/code/context": ["q={item}&budget=2000", "q=x&repo={root}"],
    "GET /api/v1/code/completions": ["typed={item}", "typed={file}"],
    "GET /api/v1/code/excerpt": ["file={file}&first_line=1&last_line=2"],
    "GET /api/v1/code/neighbours": ["name={item}&file={file}&relation=callers"],
    "POST /api/v1/tools/{name}/call": [{"of": "x"}],
    "GET /api/v1/sessions/costs": ["id={session}"],
    "PATCH /api/v1/sessions/{session}": [{"title": "Mine"}],
    "GET /api/v1/sessions/{session}/context": ["", "text=x&model={provider}/{model}"],
    "PATCH /api/v1/sessions/{session}/context": [
        {"automatic_context": False},
        {"pinned": [{"kind": "code", "path": "{file}", "first_line": 1, "last_line": 1}]},
        {"pinned": [{"kind": "item", "name": "{item}", "file": "{file}"}]},
    ],
    "POST /api/v1/turns": [
        {"text": "x", "session": "{session}"},
        {"text": "x", "model": "{provider}/{model}"},
        {"text": "x", "front_end": "{front_end}"},
        {"text": "x", "attachments": [{"kind": "code", "path": "{file}"}]},
        {"text": "x", "attachments": [{"kind": "item", "name": "{item}", "file": "{file}"}]},
    ],
    "POST /api/v1/turns/plan": [
        {"session": "{session}"},
        {"text": "x", "model": "{provider}/{model}"},
        {"text": "x", "attachments": [{"kind": "code", "path": "{file}"}]},
        {"text": "x", "attachments": [{"kind": "item", "name": "{item}", "file": "{file}"}]},
    ],
    "POST /api/v1/turns/{request_id}/steer": [{"text": "x"}],
    "POST /api/v1/approvals/{approval_id}": [{"scope": "once"}],
    "GET /api/v1/permissions": ["", "conversation_id={session}"],
    "GET /api/v1/sessions/{session}/rewind": ["prompt=0&scope=both"],
    "POST /api/v1/sessions/{session}/rewind": [{"prompt": 0, "scope": "both"}],
    "POST /api/v1/proposals/{reference}/approve": [{}, {"files": ["{file}"]}],
    "POST /api/v1/proposals/{reference}/deny": [{}, {"files": ["{file}"]}],
    "GET /api/v1/proposals/{reference}/files": ["path={file}"],
    "PUT /api/v1/proposals/{reference}/files": [{"path": "{file}", "base64": "eA=="}],
    "POST /api/v1/checks/{name}/run": [
        {},
        {"allowed": {"path": "{root}/check.sh", "inside": True, "digest": "0"}},
    ],
    "GET /api/v1/threads": list(_FILTERS),
    "GET /api/v1/runs": list(_FILTERS),
    "GET /api/v1/spans": list(_FILTERS),
    "GET /api/v1/search": ["q={word}", *_filtered("q=sings&")],
    "GET /api/v1/groups": _filtered("group_by=model&"),
    "GET /api/v1/nested_groups": _filtered("group_by=model&then_by=label&"),
    "GET /api/v1/labels": _filtered(),
    "GET /api/v1/summary": _filtered(),
    "GET /api/v1/run_totals": _filtered(),
    "GET /api/v1/comparison": ["a={trace}&b={trace}", "a={run}&b={run}"],
    "GET /api/v1/comparison_candidates": ["id={trace}", "id={run}"],
    "GET /api/v1/exports/threads": _filtered("format=jsonl&"),
    "GET /api/v1/exports/runs": _filtered("format=csv&"),
    "GET /api/v1/exports/spans": _filtered("format=jsonl&"),
    "GET /api/v1/exports/groups": _filtered("format=csv&group_by=model&"),
    "GET /api/v1/exports/html": ["reference={trace}", "reference={run}"],
    "POST /api/v1/exports/links": [{"path": "/api/v1/exports/html/{trace}"}],
    "POST /api/v1/selections/count": [
        {"rows": "threads", "ids": ["{thread}"]},
        {"rows": "runs", "ids": ["{run}"]},
        {"rows": "spans", "ids": ["{span_path}"]},
        {"rows": "spans", "query": "{word}"},
    ],
    "POST /api/v1/selections/label": [
        {"rows": "threads", "ids": ["{thread}"], "add": ["{label}"]},
        {"rows": "runs", "ids": ["{run}"], "remove": ["{label}"]},
        {"rows": "spans", "ids": ["{span_path}"], "add": ["new"]},
        {"rows": "spans", "query": "{word}", "add": ["new"]},
    ],
    "POST /api/v1/selections/delete": [
        {"rows": "threads", "ids": ["{thread}"]},
        {"rows": "runs", "ids": ["{run}"]},
        {"rows": "spans", "query": "{word}"},
    ],
    "GET /api/v1/findings": _filtered(),
    "GET /api/v1/redaction/preview": _filtered("pattern=sings&"),
    "POST /api/v1/breakpoints": [
        {"thread_id": "{thread}", "labels": ["{label}"], "model": "{model}", "enabled": False}
    ],
    "POST /api/v1/breakpoints/held/{held_id}/continue": [{}],
    "POST /api/v1/breakpoints/held/{held_id}/refuse": [{"reason": "x"}],
    "PATCH /api/v1/breakpoints/{breakpoint_id}": [
        {"thread_id": "{thread}", "labels": ["{label}"], "model": "{model}", "enabled": False}
    ],
    "PATCH /api/v1/ui": [
        {"page": "{page}", "experiment_id": "{experiment}", "collapse": ["{span}"]},
        {"expand": ["{span}"], "location": "/runs/{run}", "label_filters": {"runs": ["{label}"]}},
        {"label_filters": {}, "location": "/runs", "experiment_id": None},
    ],
    "POST /api/v1/ui/requests": [
        {"page": "{page}", "request": {"type": "navigate_to", "url": "/runs/x"}},
        {"page": "{page}", "request": {
            "type": "navigate_to_experiment", "spanId": "{span}", "url": "/experiments/x",
        }},
        {"request": {"type": "apply_label_filter", "labels": ["{label}"], "action": "set"}},
    ],
    "POST /api/v1/ui/requests/{ui_id}/answer": [
        {"type": "navigate_to_response", "success": True}
    ],
    "POST /api/v1/agents/{name}/ask": [
        {"question": "x"},
        {"question": "x", "conversation": "{agent_session}"},
        {"question": "x", "context": {"thread_id": "{thread}", "page": "/runs/{run}"}},
        {"question": "x", "context": {"run_id": "{run}", "labels": ["{label}"]}},
        {"question": "x", "context": {"trace_id": "{trace}", "span_id": "{span}"}},
        {"question": "x", "context": {"experiment_id": "{experiment}"}},
        {"question": "x", "asked_in": "{session}", "front_end": "{front_end}"},
        {"question": "x", "model": "{provider}/{model}", "page_id": "{page}"},
    ],
    "POST /api/v1/experiments": [{"spans": ["{span_path}"]}, {"query": "{word}"}],
    "PATCH /api/v1/experiments/{reference}": [{"data": {"system": "x"}}],
    "POST /api/v1/experiments/{reference}/check": [{"data": {"system": "x"}}],
    "POST /api/v1/experiments/{reference}/batches": [
        {"repeats": 1}, {"repeats": 1, "models": ["{provider}/{model}"]},
    ],
    "POST /api/v1/experiments/{reference}/batches/{batch_reference}/judge": [
        {"model": "{provider}/{model}"},
    ],
    "POST /api/v1/experiments/{reference}/batches/{batch_reference}/resume": [{}],
    "GET /api/v1/query/parse": ["query={word}"],
    "GET /api/v1/query/values": ["field=label&prefix={word}", *_filtered("field=label&")],
    "GET /api/v1/facets": _filtered("rows=runs&"),
    "PATCH /api/v1/agents/conversations/{conversation}": [{"title": "Mine"}],
    "POST /api/v1/views": [{"screen": "runs", "name": "{word}", "query": "{word}"}],
    "PATCH /api/v1/views/{view_id}": [{"name": "Mine"}, {"query": "{word}"}],
    "POST /api/v1/providers/{name}/test": [{"model": "{model}", "seconds": 5}],
    "PUT /api/v1/providers/{name}/key": [{"key": "sk-0123456789"}],
    "GET /api/v1/models/vendors": ["provider={provider}&model={model}"],
    "GET /api/v1/prices": ["provider={provider}&model={model}"],
    "PUT /api/v1/models/default": [{"name": "{provider}/{model}"}],
    "GET /api/v1/retention/preview": ["keep=1d"],
    "POST /api/v1/identity/invitations": [{"invitation": "x"}],
    # routes outside of the OpenAPI document
    "GET /sign-in/oidc/callback": ["code=x&state=x"],
    "POST /api/public/media": [{"sha256Hash": "{media}"}],
    "PUT /api/public/media/{media_id}": [{}],
    "POST /api/public/scores": [{"traceId": "{trace}"}],
    "POST /api/public/ingestion": [{"batch": [{"traceId": "{trace}"}]}],
    "POST /v2/traces/{trace_id}/spans/{span_id}/images": [{"image_name": "x.png"}],
    "POST /v2/images/{image_id}.{subtype}": [{"image_data": "aGVsbG8="}],
}  # fmt: skip
"""The requests for each route with ids outside of its path. Other routes get one plain request."""

CREATING: Final = frozenset({
    "POST /api/v1/turns", "POST /api/v1/agents/{name}/ask", "POST /api/v1/breakpoints",
    "POST /api/v1/views", "POST /api/v1/exports/links",
    "POST /api/v1/sessions", "POST /api/v1/experiments/{reference}/batches",
    "POST /v2/traces/{trace_id}/spans/{span_id}/images",
})  # fmt: skip
"""Routes that create things for any id. Their answers have the ids and times of the new things."""

REFUSED: Final = frozenset({
    "POST /api/public/ingestion", "POST /api/public/scores", "PUT /api/public/media/{media_id}",
})  # fmt: skip
"""Routes that refuse the content of their requests: scores, and media with a wrong id."""

REPEATING: Final = frozenset({"PATCH /api/v1/ui"})
"""Routes that keep the given ids, and answer with those of earlier requests, too."""


PLAIN: Final = frozenset({
    "token", "top_k", "view", "budget", "first_line", "last_line", "relation", "limit", "offset",
    "title", "at", "kind", "automatic_context", "left_out", "tools_left_out", "text", "name",
    "data", "tools", "stream", "wait", "scope", "words", "prompt", "keep_changed", "state", "hunks",
    "base64", "inside", "digest", "environment", "always", "allowed", "after", "approve",
    "last-event-id", "operation_names", "status", "min_cost", "max_cost", "min_duration_ms",
    "max_duration_ms", "min_tokens", "max_tokens", "since", "until", "period", "has_error", "own",
    "sort", "ascending", "cursor", "group_by", "bucket_size", "figures", "then_by", "whole",
    "format", "rows", "pattern", "enabled", "timeout", "on_expiry", "body", "reason",
    "label_filters", "type", "url", "action", "question", "context", "attachments", "pinned",
    "request", "note", "repeats", "variants", "cost", "tokens", "seconds", "at_once",
    "seconds_each", "retry_failed", "base", "criteria", "field", "screen", "search", "columns",
    "key", "keep", "max_size", "mode",
    "invitation",  # a secret that is valid for one person
    # the answers of pages
    "collapsedSpanIds", "experimentData", "originalExperimentData", "result", "running",
    "hasResults", "original", "new", "comparison", "success", "error", "applied_labels",
})  # fmt: skip
"""Names of parameters and of parts of bodies that are never ids of stored things."""

_PLACE = re.compile(r"\{(\w+)\}")


def kinds_in(template: object) -> set[Kind]:
    """The kinds of ids in a template."""
    if isinstance(template, str):
        return {Kind(found) for found in _PLACE.findall(template)}
    if isinstance(template, Mapping):
        return set().union(*map(kinds_in, template.values()))
    if isinstance(template, list):
        return set().union(*map(kinds_in, template))
    return set()


def filled(template: Any, ids: Mapping[Kind, str]) -> Any:
    """The template with ids in their places."""
    if isinstance(template, str):
        return _PLACE.sub(lambda found: ids[Kind(found[1])], template)
    if isinstance(template, dict):
        return {name: filled(value, ids) for name, value in template.items()}
    if isinstance(template, list):
        return [filled(each, ids) for each in template]
    return template


def named_ids(template: object, name: str = "") -> Iterator[str]:
    """The names of the parameters in a template that contain ids."""
    if isinstance(template, str) and "=" in template and not name:
        for pair in template.split("&"):
            key, _, value = pair.partition("=")
            yield from named_ids(value, key)
    elif isinstance(template, str) and _PLACE.search(template):
        yield name
    elif isinstance(template, Mapping):
        for key, value in template.items():
            yield from named_ids(value, key)
    elif isinstance(template, list):
        for each in template:
            yield from named_ids(each, name)
