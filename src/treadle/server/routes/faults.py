"""Routes that return the findings in recorded spans, and recorded requests to run again."""

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Query, Request, Response
from pydantic import Field

from treadle.diagnosis.detectors import Finding, Kind, Severity
from treadle.diagnosis.findings import findings as detected
from treadle.errors import NotFoundError
from treadle.experiments.recorded_calls import listed_call, request_of
from treadle.experiments.requests import body_of
from treadle.experiments.service import Runnable
from treadle.json_values import JsonField
from treadle.server.current_project import CurrentServer
from treadle.server.openapi import json_responses
from treadle.server.path_ids import ids_in_path, rest_of_path
from treadle.server.responses import json_response
from treadle.server.routers import api_router
from treadle.server.routes.experiments import OpenedExperiments
from treadle.server.routes.traces import Filter

router = api_router("", "traces")


class FaultsQuery(Filter):
    """The query that selects spans, and the maximum number of findings in the response."""

    limit: int = Field(50, ge=1, le=1_000)


@dataclass(frozen=True, slots=True)
class ListedFinding:
    """A finding in the format that `docs/detectors.md` describes.

    `also_in` is the number of later spans with the same finding.
    """

    trace_id: str
    span_id: str
    detector: str
    kind: Kind
    severity: Severity
    confidence: float
    tool: str
    message: str
    field: str
    start: int
    end: int
    quote: str
    count: int
    also_in: int

    @classmethod
    def of(cls, finding: Finding) -> "ListedFinding":
        """Convert a finding into its JSON form."""
        evidence = finding.evidence
        return cls(
            trace_id=evidence.span.trace_id,
            span_id=evidence.span.span_id,
            detector=finding.detector,
            kind=finding.kind,
            severity=finding.severity,
            confidence=finding.confidence,
            tool=finding.tool,
            message=finding.message,
            field=evidence.field,
            start=evidence.start,
            end=evidence.end,
            quote=evidence.quote,
            count=finding.count,
            also_in=len(finding.also_in),
        )


@dataclass(frozen=True, slots=True)
class FindingList:
    """The findings in all matching spans.

    If there are more findings than the limit of the request, `data` has only the most severe ones.
    `total` is the number of all findings. `spans` is the number of matching spans. `unexamined` is
    the number of matching spans that are not yet examined, because one request examines a limited
    number. A repeated request examines further spans.
    """

    data: list[ListedFinding]
    total: int
    spans: int
    unexamined: int


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A recorded model call, converted to a chat request.

    Each of the `notes` names a part of the call that was not recorded.
    """

    body: Annotated[dict[str, Any], JsonField(as_is=True)]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ListedRunnable:
    """Whether an experiment can run a recorded call again, and the reason.

    `operation` is the operation of the call's span.
    """

    operation: str
    found: Annotated[Runnable, JsonField(inline=True)]


@router.get("/findings", response_class=Response, responses=json_responses(FindingList))
async def findings(
    server: CurrentServer, parameters: Annotated[FaultsQuery, Query()], request: Request
) -> Response:
    """Return the findings of the detectors in chronological order."""

    def make() -> FindingList:
        found = detected(
            server.traces, parameters.span_query(), rules=server.rules, limit=parameters.limit
        )
        data = [ListedFinding.of(each) for each in found.data]
        return FindingList(data, found.total, found.spans, found.unexamined)

    return await json_response(request, make)


@router.get(
    "/requests/" + rest_of_path("ids"),
    response_class=Response,
    responses=json_responses(RecordedRequest),
)
async def recorded_request(server: CurrentServer, request: Request, ids: str) -> Response:  # noqa: ARG001  (read before it is decoded)
    """Return the chat request of a recorded model call. The path is `/requests/TRACE/SPAN`."""
    trace_id, span_id = ids_in_path(request, "/requests/", 2)

    def make() -> RecordedRequest:
        found = server.traces.span(trace_id, span_id)
        if found is None:
            raise NotFoundError(f"There is no span {span_id} in the trace {trace_id}.")
        document, notes = request_of(found)
        return RecordedRequest(body_of(document), notes)

    return await json_response(request, make)


@router.get(
    "/runnable/" + rest_of_path("ids"),
    response_class=Response,
    responses=json_responses(ListedRunnable),
)
async def can_be_run(
    server: CurrentServer,
    opened: OpenedExperiments,
    request: Request,
    ids: str,  # noqa: ARG001
) -> Response:
    """State whether an experiment can run a call again. The path is `/runnable/TRACE/SPAN`."""
    reference = "/".join(ids_in_path(request, "/runnable/", 2))
    listed = await asyncio.to_thread(listed_call, server.traces, reference)
    found = await opened.runnable(reference)

    return await json_response(request, lambda: ListedRunnable(listed.operation, found))
