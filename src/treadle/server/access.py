"""What the sender of a request needs for each route.

A request for a route without an entry is refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from treadle.gateway.apis import PATHS
from treadle.identity.identity import Scope
from treadle.identity.records import Action

SOCKET = "WEBSOCKET"
"""The method of each WebSocket route in `ACCESS`. WebSockets have no other method."""


@dataclass(frozen=True, slots=True)
class Need:
    """What a route needs, and how the audit log names its requests."""

    scope: Scope | None = None
    """The scope that the sender needs. None allows every sender with an identity."""
    public: bool = False
    """Whether a sender without an identity may use the route."""
    spends: bool = False
    """Whether a request may cause model calls that the limits of an API key do not count.

    A key with a limit in dollars cannot use such a route.
    """
    action: Action | None = None
    """The action in the audit log. None adds no entry."""


PUBLIC = Need(public=True)
SIGNED_IN = Need()
INGEST = Need(Scope.INGEST)
GATEWAY = Need(Scope.GATEWAY)
READ = Need(Scope.READ)
WRITE = Need(Scope.WRITE)
ADMIN = Need(Scope.ADMIN)
METRICS = Need(Scope.METRICS)
SPEND = replace(WRITE, spends=True)
DELETE = replace(WRITE, action=Action.DELETION)
EXPORT = replace(READ, action=Action.EXPORT)
APPROVE = replace(WRITE, action=Action.APPROVAL)
CONFIGURE = replace(ADMIN, action=Action.SETTING_CHANGED)

_API: Mapping[str, Mapping[str, Need]] = {
    "/health": {"GET": READ},
    "/identity": {"GET": SIGNED_IN},
    "/identity/provider": {"GET": PUBLIC},
    "/identity/invitations": {"POST": PUBLIC},
    "/identity/session": {"DELETE": SIGNED_IN},
    "/repository": {"GET": READ},
    # code and tools
    "/code/search": {"GET": READ},
    "/code/context": {"GET": READ},
    "/code/completions": {"GET": READ},
    "/code/excerpt": {"GET": READ},
    "/code/neighbours": {"GET": READ},
    "/tools": {"GET": READ},
    "/tools/statistics": {"GET": READ},
    "/tools/{name}/call": {"POST": SPEND},
    "/checks": {"GET": READ},
    "/checks/{name}/program": {"GET": READ},
    "/checks/{name}/run": {"POST": WRITE},
    # conversations
    "/sessions": {"GET": READ},
    "/sessions/costs": {"GET": READ},
    "/sessions/{session}": {"GET": READ, "PATCH": WRITE, "DELETE": DELETE},
    "/sessions/{session}/turns": {"GET": READ},
    "/sessions/{session}/context": {"GET": READ, "PATCH": WRITE},
    "/sessions/{session}/rewind": {"GET": READ, "POST": WRITE},
    "/sessions/{session}/rewind/undo": {"GET": READ, "POST": WRITE},
    "/turns": {"GET": READ, "POST": SPEND},
    "/turns/plan": {"POST": WRITE},
    "/turns/{request_id}": {"GET": READ},
    "/turns/{request_id}/events": {"GET": READ},
    "/turns/{request_id}/calls/{turn}/{slot}": {"GET": READ},
    "/turns/{request_id}/steer": {"POST": WRITE},
    "/turns/{request_id}/cancel": {"POST": WRITE},
    "/agents": {"GET": READ},
    "/agents/{name}/ask": {"POST": SPEND},
    "/agents/conversations": {"GET": READ},
    "/agents/conversations/{conversation}": {"GET": READ, "PATCH": WRITE, "DELETE": DELETE},
    # approvals and proposals
    "/approvals": {"GET": READ},
    "/approvals/{approval_id}": {"POST": APPROVE},
    "/approvals/{approval_id}/choices": {"GET": READ},
    "/permissions": {"GET": READ, "DELETE": APPROVE},
    "/permissions/{permission_id}": {"DELETE": APPROVE},
    "/proposals": {"GET": READ},
    "/proposals/{reference}": {"GET": READ},
    "/proposals/{reference}/approve": {"POST": APPROVE},
    "/proposals/{reference}/deny": {"POST": APPROVE},
    "/proposals/{reference}/undo": {"POST": APPROVE},
    "/proposals/{reference}/redo": {"POST": APPROVE},
    "/proposals/{reference}/restage": {"POST": WRITE},
    "/proposals/{reference}/files": {"GET": READ, "PUT": WRITE},
    # events and pages
    "/events": {"GET": READ},
    "/events/socket": {SOCKET: READ},
    "/front_ends/{name}": {SOCKET: WRITE},
    "/ui": {"GET": READ, "PATCH": WRITE},
    "/ui/requests": {"POST": WRITE},
    "/ui/requests/{ui_id}/answer": {"POST": WRITE},
    # traces
    "/threads": {"GET": READ},
    "/threads/{thread_id:whole}": {"DELETE": DELETE},
    "/runs": {"GET": READ},
    "/runs/{run_id:whole}": {"GET": READ, "DELETE": DELETE},
    "/run_totals": {"GET": READ},
    "/spans": {"GET": READ},
    "/spans/{ids:whole}": {"GET": READ},
    "/traces/{trace_id:whole}": {"GET": READ, "DELETE": DELETE},
    "/trace_views/{trace_id:whole}": {"GET": READ},
    "/whole_traces/{trace_id:whole}": {"GET": READ},
    "/recorded_plans/{ids:whole}": {"GET": READ},
    "/contexts/{ids:whole}": {"GET": READ},
    "/blobs/{digest}": {"GET": READ},
    "/search": {"GET": READ},
    "/groups": {"GET": READ},
    "/nested_groups": {"GET": READ},
    "/labels": {"GET": READ},
    "/summary": {"GET": READ},
    "/comparison": {"GET": READ},
    "/comparison_candidates": {"GET": READ},
    "/query/fields": {"GET": READ},
    "/query/parse": {"GET": READ},
    "/query/values": {"GET": READ},
    "/facets": {"GET": READ},
    "/findings": {"GET": READ},
    "/requests/{ids:whole}": {"GET": READ},
    "/runnable/{ids:whole}": {"GET": READ},
    "/exports/threads": {"GET": EXPORT},
    "/exports/runs": {"GET": EXPORT},
    "/exports/spans": {"GET": EXPORT},
    "/exports/groups": {"GET": EXPORT},
    "/exports/html": {"GET": EXPORT},
    "/exports/html/{reference:whole}": {"GET": EXPORT},
    "/exports/links": {"POST": READ},
    "/selections/count": {"POST": READ},
    "/selections/label": {"POST": WRITE},
    "/selections/delete": {"POST": DELETE},
    "/views": {"GET": READ, "POST": WRITE},
    "/views/{view_id}": {"PATCH": WRITE, "DELETE": DELETE},
    # experiments, and breakpoints of the gateway
    "/experiments": {"GET": READ, "POST": WRITE},
    "/experiments/{reference}": {"GET": READ, "PATCH": WRITE, "DELETE": DELETE},
    "/experiments/{reference}/check": {"POST": WRITE},
    "/experiments/{reference}/export": {"GET": EXPORT},
    "/experiments/{reference}/batches": {"GET": READ, "POST": SPEND},
    "/experiments/{reference}/batches/{batch_reference}": {"GET": READ},
    "/experiments/{reference}/batches/{batch_reference}/cancel": {"POST": WRITE},
    "/experiments/{reference}/batches/{batch_reference}/resume": {"POST": SPEND},
    "/experiments/{reference}/batches/{batch_reference}/comparison": {"GET": READ},
    "/experiments/{reference}/batches/{batch_reference}/judge": {"POST": SPEND},
    "/breakpoints": {"GET": READ, "POST": WRITE},
    "/breakpoints/{breakpoint_id}": {"PATCH": WRITE, "DELETE": DELETE},
    "/breakpoints/held": {"GET": READ},
    "/breakpoints/held/{held_id}": {"GET": READ},
    "/breakpoints/held/{held_id}/continue": {"POST": APPROVE},
    "/breakpoints/held/{held_id}/refuse": {"POST": APPROVE},
    # settings and providers
    "/models": {"GET": READ},
    "/models/vendors": {"GET": READ},
    "/models/advice": {"GET": READ},
    "/models/default": {"PUT": CONFIGURE},
    "/prices": {"GET": READ},
    "/providers": {"GET": WRITE},
    "/providers/{name}/test": {"POST": replace(ADMIN, spends=True)},
    "/providers/{name}/key": {"PUT": CONFIGURE, "DELETE": CONFIGURE},
    "/settings": {"GET": WRITE},
    "/retention": {"GET": WRITE},
    "/retention/preview": {"GET": WRITE},
    "/redaction/preview": {"GET": WRITE},
}

_CALLS: Mapping[str, Need] = dict.fromkeys(("GET", "POST", "DELETE"), GATEWAY)

ACCESS: Mapping[str, Mapping[str, Need]] = {
    **{f"/api/v1{path}": methods for path, methods in _API.items()},
    **dict.fromkeys(PATHS, _CALLS),
    "/sign-in/oidc": {"GET": PUBLIC},
    "/sign-in/oidc/callback": {"GET": PUBLIC},
    "/healthz": {"GET": PUBLIC},
    "/readyz": {"GET": PUBLIC},
    "/metrics": {"GET": METRICS},
    "/api/openapi.json": {"GET": SIGNED_IN},
    "/mcp": dict.fromkeys(("GET", "POST", "DELETE"), SPEND),
    "/v1/traces": {"POST": INGEST},
    "/v1/logs": {"POST": INGEST},
    "/v1/metrics": {"POST": INGEST},
    # paths of the clients of Langfuse and Traceloop
    "/api/public/otel/v1/traces": {"POST": INGEST},
    "/api/public/projects": {"GET": INGEST},
    "/api/public/media": {"POST": INGEST},
    "/api/public/media/{media_id}": {"PUT": INGEST, "PATCH": INGEST},
    "/api/public/scores": {"POST": INGEST},
    "/api/public/ingestion": {"POST": INGEST},
    "/v2/traces/{trace_id}/spans/{span_id}/images": {"POST": INGEST},
    "/v2/images/{image_id}.{subtype}": {"POST": INGEST},
}
"""What each route needs, by the declared path and the method of the route."""

PUBLIC_PATHS = frozenset(
    (method, path)
    for path, methods in ACCESS.items()
    for method, need in methods.items()
    if need.public
)
"""The method and path of each request that needs no identity, except for the built page."""
