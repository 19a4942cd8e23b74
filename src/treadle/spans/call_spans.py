"""Maps the events of tool calls to spans. Approvals and retrievals get their own spans."""

from collections.abc import Callable
from dataclasses import fields, replace
from uuid import UUID

from treadle.events.changes import (
    EditApplied,
    EditDenied,
    EditFailed,
    EditStaged,
    EditUndone,
    ProposalEvent,
)
from treadle.events.types import (
    ApprovalRequested,
    ApprovalResolved,
    ApprovalScope,
    CallKey,
    ErrorKind,
    Event,
    RetrievalFinished,
    ToolCallAssigned,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallLate,
    ToolCallRequested,
    ToolFailure,
    ToolView,
)
from treadle.spans.span import WAITED, JsonValue, Span, SpanEvent, SpanKind, SpanStatus
from treadle.spans.span_builder import SpanBuilder, call_identity, known, microseconds

CALL_EVENTS: tuple[type[Event], ...] = (
    ToolCallRequested,
    ToolCallAssigned,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallLate,
    ApprovalRequested,
    ApprovalResolved,
    RetrievalFinished,
    EditStaged,
    EditApplied,
    EditDenied,
    EditFailed,
    EditUndone,
)
"""The events that change the span of a tool call or a span below it."""

_STATUS = {ErrorKind.CANCELLED: SpanStatus.CANCELLED, ErrorKind.DENIED: SpanStatus.DENIED}

_MCP_FIELDS = "mcp."
"""The beginning of the names of fields that describe the MCP server of a call."""

_EDIT_NAMES: dict[type[ProposalEvent], str] = {
    EditStaged: "edit_staged",
    EditApplied: "edit_applied",
    EditDenied: "edit_denied",
    EditFailed: "edit_failed",
    EditUndone: "edit_undone",
}

_APPROVAL_STATUS = {
    ApprovalScope.DENIED: SpanStatus.DENIED,
    ApprovalScope.WITHDRAWN: SpanStatus.CANCELLED,
}


class CallSpans:
    """Tracks the tool calls of one run, and builds their spans."""

    def __init__(self, builder: SpanBuilder) -> None:
        self._builder = builder
        self._calls: dict[CallKey, Span] = {}
        self._approvals: dict[UUID, Span] = {}
        self._retrievals = 0

    def span(self, key: CallKey) -> Span | None:
        """Return the current span of a tool call, or None if the call is unknown."""
        return self._calls.get(key)

    def apply(self, at_us: int, event: Event) -> list[Span]:
        """Return new versions of the spans that one of `CALL_EVENTS` starts, changes or ends."""
        match event:
            case ToolCallRequested():
                changed = self._start(at_us, event)
            case ToolCallAssigned():
                changed = self._assign(at_us, event)
            case ToolCallCompleted():
                changed = self._complete(at_us, event)
            case ToolCallFailed():
                changed = self._fail(at_us, event)
            case ToolCallLate():
                changed = self._note_late(at_us, event)
            case ApprovalRequested():
                changed = self._request_approval(at_us, event)
            case ApprovalResolved():
                changed = self._resolve_approval(at_us, event)
            case ProposalEvent(key=CallKey() as key):
                changed = self._note_edit(at_us, key, event)
            case RetrievalFinished():
                changed = self._retrieve(event)
            case _:
                changed = []
        return changed

    def _start(self, at_us: int, event: ToolCallRequested) -> list[Span]:
        self._builder.labels = tuple(sorted({*self._builder.labels, *event.labels}))
        span = self._builder.span(
            *call_identity(event.key.turn, event.key.slot),
            parent_id=self._builder.parent(event.parent_id),
            kind=SpanKind.TOOL,
            operation="execute_tool",
            subject=event.name,
            start_us=at_us,
            attributes={
                "gen_ai.tool.name": event.name,
                "gen_ai.tool.call.id": event.call_id,
                "treadle.turn": event.key.turn,
                "treadle.slot": event.key.slot,
                "treadle.vendor": event.vendor,
            },
        )
        self._calls[event.key] = replace(span, input=event.arguments)
        return [self._calls[event.key]]

    def _assign(self, at_us: int, event: ToolCallAssigned) -> list[Span]:
        assigned = SpanEvent(at_us, "assigned", {"worker": event.worker})
        return self._change(
            event.key,
            lambda call: replace(
                call,
                events=(*call.events, assigned),
                attributes={**call.attributes, "treadle.worker": event.worker},
            ),
        )

    def _complete(self, at_us: int, event: ToolCallCompleted) -> list[Span]:
        return self._change(
            event.key,
            lambda call: replace(
                call,
                end_us=at_us,
                status=SpanStatus.OK,
                output=event.content,
                attributes={
                    **call.attributes,
                    "treadle.summary": event.ui.summary,
                    **_of_mcp_server(event.ui),
                },
            ),
        )

    def _fail(self, at_us: int, event: ToolCallFailed) -> list[Span]:
        return self._change(
            event.key,
            lambda call: replace(
                call,
                end_us=at_us,
                status=_STATUS.get(event.error.kind, SpanStatus.ERROR),
                error=event.error.message,
                attributes={**call.attributes, **_failure(event.error)},
            ),
        )

    def _note_late(self, at_us: int, event: ToolCallLate) -> list[Span]:
        late = SpanEvent(at_us, "late_result", {"outcome": event.outcome})
        return self._change(event.key, lambda call: replace(call, events=(*call.events, late)))

    def _note_edit(self, at_us: int, key: CallKey, event: ProposalEvent) -> list[Span]:
        name = _EDIT_NAMES[type(event)]
        details = {"proposal": str(event.proposal_id), "files": ", ".join(event.files)}
        reason = {"reason": event.reason} if isinstance(event, EditFailed) else {}
        note = SpanEvent(at_us, name, {**details, **reason})
        return self._change(key, lambda call: replace(call, events=(*call.events, note)))

    def _request_approval(self, at_us: int, event: ApprovalRequested) -> list[Span]:
        call = self._calls.get(event.key)
        span = self._builder.span(
            "approval",
            event.approval_id,
            parent_id=call.span_id if call else self._builder.parent(event.parent_id),
            kind=SpanKind.APPROVAL,
            operation="approval",
            subject=event.name,
            start_us=at_us,
            attributes=known(
                {
                    "treadle.approval.id": str(event.approval_id),
                    "treadle.approval.reason": event.reason,
                    "treadle.approval.subjects": list(event.subjects),
                    "treadle.proposal.id": str(event.proposal_id) if event.proposal_id else None,
                }
            ),
        )
        self._approvals[event.approval_id] = replace(span, input=event.summary)
        return [self._approvals[event.approval_id]]

    def _resolve_approval(self, at_us: int, event: ApprovalResolved) -> list[Span]:
        approval = self._approvals.pop(event.approval_id, None)
        if approval is None:
            return []
        words = {"treadle.approval.words": event.words} if event.words else {}
        resolved = replace(
            approval,
            end_us=at_us,
            status=_APPROVAL_STATUS.get(event.scope, SpanStatus.OK),
            output=event.scope.value,
            attributes={**approval.attributes, **words},
        )
        waited = microseconds(event.duration)

        def wait(call: Span) -> Span:
            before = call.attributes.get(WAITED)
            total = waited + (before if isinstance(before, int) else 0)
            return replace(call, attributes={**call.attributes, WAITED: total})

        return [resolved, *self._change(event.key, wait)]

    def _change(self, key: CallKey, change: Callable[[Span], Span]) -> list[Span]:
        call = self._calls.get(key)
        if call is None:
            return []
        self._calls[key] = change(call)
        return [self._calls[key]]

    def _retrieve(self, event: RetrievalFinished) -> list[Span]:
        self._retrievals += 1
        call = self._calls.get(event.key) if event.key else None
        span = self._builder.span(
            "retrieval",
            self._retrievals,
            parent_id=call.span_id if call else self._builder.parent(event.parent_id),
            kind=SpanKind.RETRIEVAL,
            operation="retrieval",
            subject="code",
            start_us=event.started_us,
            attributes={
                "treadle.retrieval.top_k": event.top_k,
                "treadle.retrieval.sources": [
                    {
                        item.name: getattr(source, item.name)
                        for item in fields(source)
                        if item.name != "stale"
                    }
                    for source in event.sources
                ],
                "treadle.retrieval.omitted": event.omitted,
                "treadle.retrieval.tokens": event.tokens,
                "treadle.retrieval.budget": event.budget,
                "treadle.index.files": event.index_files,
                "treadle.index.items": event.index_items,
            },
        )
        return [
            replace(
                span,
                end_us=event.started_us + microseconds(event.duration),
                status=SpanStatus.OK,
                input=event.query,
            )
        ]


def _failure(failure: ToolFailure) -> dict[str, JsonValue]:
    return known(
        {
            "error.type": failure.kind.value,
            "treadle.error.field": failure.field,
            "treadle.error.expected": failure.expected,
            "treadle.error.received": failure.received,
            "treadle.error.hint": failure.hint,
            "treadle.error.effect": failure.effect.value,
        }
    )


def _of_mcp_server(view: ToolView) -> dict[str, str]:
    """Return the attributes of a call that an MCP server ran: its name and its transport."""
    return {f"treadle.{name}": text for name, text in view.fields if name.startswith(_MCP_FIELDS)}
