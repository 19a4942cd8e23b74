"""Lists, sums up, shows and deletes the recorded spans."""

import asyncio
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import Field

from treadle.errors import NotFoundError
from treadle.events.changes import SpansDeleted
from treadle.ids import NO_REQUEST
from treadle.json_values import JsonField
from treadle.server.openapi import json_responses, object_type
from treadle.server.path_ids import ids_in_path, rest_of_path
from treadle.server.responses import json_response
from treadle.server.span_content import SpanContent, previewed_span, whole_span
from treadle.server.state import CurrentServer, ServerState
from treadle.traces.own_spans import without_own
from treadle.traces.query import Condition, GroupBy, Operator, Page, Sort, SortKey, any_of
from treadle.traces.query import Field as About
from treadle.traces.query import Query as SpanQuery
from treadle.traces.query.pages import Pagination
from treadle.traces.query.parameters import SpanParameters
from treadle.traces.store.results import (
    Deleted,
    Group,
    Hit,
    LabelCounts,
    ListedSpan,
    RunSummary,
    Skeleton,
    Summary,
    ThreadSummary,
)

router = APIRouter(tags=["traces"])

_SHOWN_TYPES = ("image/", "audio/", "video/", "text/plain")
"""Media types that a browser may show. None except SVG can run scripts."""


class Filter(SpanParameters):
    """The selection of spans."""

    token: str | None = Field(None, description="the server's token, if it has one")

    def span_query(self) -> SpanQuery:
        """The conditions, without Treadle's own calls unless the query selects them.

        Raises UsageError for an invalid time or query.
        """
        return without_own(self.to_query(time.time_ns() // 1_000))


class Paging(Filter):
    """The selection, the order, and the part of the list."""

    limit: int = Field(50, ge=1, le=1_000)
    offset: int = Field(0, ge=0, le=1_000_000)
    cursor: str | None = Field(None, description="the cursor of the previous page")
    sort: SortKey = SortKey.TIME
    ascending: bool = False

    def page(self) -> dict[str, Any]:
        """The arguments of all reading methods."""
        sort = Sort(self.sort, self.ascending)
        return {"sort": sort, "limit": self.limit, "offset": self.offset, "cursor": self.cursor}


class Searching(Paging):
    """The selection, with the searched text in `text` or in `query`."""

    q: str | None = Field(None, min_length=1, max_length=10_000, description="literal text")

    def span_query(self) -> SpanQuery:
        """The conditions. Raises UsageError for an invalid time or query."""
        query = super().span_query()
        if self.q is None:
            return query
        return query & SpanQuery((Condition(About.TEXT, Operator.CONTAINS, (self.q,)),))


class Grouping(Filter):
    """The grouping, and the part of the groups."""

    group_by: GroupBy
    bucket_size: int = Field(3_600, ge=1, le=366 * 86_400, description="seconds, for `time`")
    limit: int = Field(50, ge=1, le=10_000)
    offset: int = Field(0, ge=0, le=1_000_000)


class Counting(Filter):
    """The maximum number of labels."""

    limit: int = Field(100, ge=1, le=10_000)


def _page_type(item: type) -> Any:
    """A page of these rows, for the OpenAPI document."""
    name = item.__name__.removeprefix("Listed").removesuffix("Summary") + "Page"
    return object_type(name, Page, {"data": list[item], "pagination": Pagination})  # type: ignore[valid-type]  # known at run time


def _page_responses(item: type) -> dict[int | str, dict[str, Any]]:
    return json_responses(lambda: _page_type(item))


@dataclass(frozen=True, slots=True)
class RunWithSpans:
    """A run with its spans, in order of time."""

    run: Annotated[RunSummary, JsonField(inline=True)]
    spans: Annotated[Page[ListedSpan], JsonField(documented_as=lambda: _page_type(ListedSpan))]


@router.get("/threads", response_class=Response, responses=_page_responses(ThreadSummary))
async def threads(
    server: CurrentServer, parameters: Annotated[Paging, Query()], request: Request
) -> Response:
    """Threads with matching spans, by default in the order of their newest runs."""
    return await _page(request, parameters, server.traces.threads)


@router.get("/runs", response_class=Response, responses=_page_responses(RunSummary))
async def runs(
    server: CurrentServer, parameters: Annotated[Paging, Query()], request: Request
) -> Response:
    """Runs with matching spans, by default newest first."""
    return await _page(request, parameters, server.traces.runs)


@router.get("/spans", response_class=Response, responses=_page_responses(ListedSpan))
async def spans(
    server: CurrentServer, parameters: Annotated[Paging, Query()], request: Request
) -> Response:
    """Matching spans without their whole content, by default newest first."""
    return await _page(request, parameters, server.traces.spans)


@router.get("/search", response_class=Response, responses=_page_responses(Hit))
async def search(
    server: CurrentServer, parameters: Annotated[Searching, Query()], request: Request
) -> Response:
    """Spans that contain a text, with its position."""
    return await _page(request, parameters, server.traces.search)


async def _page(request: Request, parameters: Paging, read: Callable[..., Page[Any]]) -> Response:
    return await json_response(request, lambda: read(parameters.span_query(), **parameters.page()))


@router.get("/groups", response_class=Response, responses=_page_responses(Group))
async def groups(
    server: CurrentServer, parameters: Annotated[Grouping, Query()], request: Request
) -> Response:
    """Counts, tokens and cost by time, model, thread, run, label or operation."""
    return await json_response(
        request,
        lambda: server.traces.groups(
            parameters.group_by,
            parameters.span_query(),
            bucket_seconds=parameters.bucket_size,
            limit=parameters.limit,
            offset=parameters.offset,
        ),
    )


@router.get("/labels", response_class=Response, responses=json_responses(LabelCounts))
async def labels(
    server: CurrentServer, parameters: Annotated[Counting, Query()], request: Request
) -> Response:
    """Labels with the number of spans, most frequent first."""
    return await json_response(
        request, lambda: server.traces.labels(parameters.span_query(), limit=parameters.limit)
    )


@router.get("/summary", response_class=Response, responses=json_responses(Summary))
async def summary(
    server: CurrentServer, parameters: Annotated[Filter, Query()], request: Request
) -> Response:
    """The sums of all matching spans."""
    return await json_response(request, lambda: server.traces.summary(parameters.span_query()))


@router.get(
    "/runs/" + rest_of_path("run_id"),
    response_class=Response,
    responses=json_responses(RunWithSpans),
)
async def run(
    server: CurrentServer,
    request: Request,
    run_id: str,  # noqa: ARG001  (read before it is decoded)
    limit: Annotated[int, Query(ge=1, le=1_000)] = 500,
    cursor: str | None = None,
) -> Response:
    """A run with its spans, in order of time. `spans.pagination` leads to further spans."""
    (reference,) = ids_in_path(request, "/runs/")

    def make() -> RunWithSpans:
        query = SpanQuery((any_of(About.RUN, [reference]),))
        found = server.traces.runs(query, limit=1).data
        if not found:
            raise NotFoundError(
                f"There is no run {reference}.", hint="/api/v1/runs lists the runs."
            )
        page = server.traces.spans(query, sort=Sort(ascending=True), limit=limit, cursor=cursor)
        return RunWithSpans(found[0], page)

    return await json_response(request, make)


@router.get(
    "/traces/" + rest_of_path("trace_id"),
    response_class=Response,
    responses=json_responses(Skeleton),
)
async def trace(server: CurrentServer, request: Request, trace_id: str) -> Response:  # noqa: ARG001
    """The skeleton of a trace: all its spans in columns, without content."""
    (reference,) = ids_in_path(request, "/traces/")
    return await json_response(request, lambda: server.traces.skeleton(reference))


@router.get(
    "/spans/" + rest_of_path("ids"),
    response_class=Response,
    responses=json_responses(SpanContent),
)
async def span(server: CurrentServer, request: Request, ids: str, whole: bool = False) -> Response:  # noqa: ARG001
    """A span with its content, at `/spans/TRACE/SPAN`.

    Large values are previews unless `whole` is set. `cut` lists them, and the hashes of their
    parts.
    """
    trace_id, span_id = ids_in_path(request, "/spans/", 2)

    def make() -> SpanContent:
        found = server.traces.span(trace_id, span_id)
        if found is None:
            raise NotFoundError(f"There is no span {span_id} in the trace {trace_id}.")
        return whole_span(found) if whole else previewed_span(found)

    return await json_response(request, make)


_MEDIA_TYPE = re.compile(r"[a-zA-Z0-9!#$&^_.+-]{1,100}/[a-zA-Z0-9!#$&^_.+-]{1,100}", re.ASCII)


@router.get(
    "/blobs/{digest}",
    response_class=Response,
    responses={200: {"content": {"*/*": {"schema": {"type": "string", "format": "binary"}}}}},
)
async def blob(
    server: CurrentServer, digest: Annotated[str, Path(pattern="^[0-9a-f]{64}$")]
) -> Response:
    """A large value or an attachment by its hash. Content that a page could run is a download."""
    found = await asyncio.to_thread(server.traces.blob, digest)
    if found is None:
        raise NotFoundError(f"There is no blob {digest}.")
    media_type = found.media_type or ""
    if not _MEDIA_TYPE.fullmatch(
        media_type
    ):  # the type is recorded text, and a header accepts only some characters
        media_type = "application/octet-stream"
    shown = media_type.startswith(_SHOWN_TYPES) and "svg" not in media_type
    return Response(
        found.data,
        media_type=media_type,
        headers={
            "X-Content-Type-Options": "nosniff",
            "Content-Disposition": "inline" if shown else "attachment",
            "Content-Security-Policy": "default-src 'none'; sandbox",
            "Cache-Control": "private, max-age=31536000, immutable",
        },
    )


@router.delete("/threads/" + rest_of_path("thread_id"))
async def delete_thread(server: CurrentServer, request: Request, thread_id: str) -> Deleted:  # noqa: ARG001
    """Permanently delete all runs of a thread."""
    (reference,) = ids_in_path(request, "/threads/")
    return await _deleted(server, reference, lambda: server.traces.delete(threads=[reference]))


@router.delete("/runs/" + rest_of_path("run_id"))
async def delete_run(server: CurrentServer, request: Request, run_id: str) -> Deleted:  # noqa: ARG001
    """Permanently delete a run."""
    (reference,) = ids_in_path(request, "/runs/")
    return await _deleted(server, reference, lambda: server.traces.delete(runs=[reference]))


@router.delete("/traces/" + rest_of_path("trace_id"))
async def delete_trace(server: CurrentServer, request: Request, trace_id: str) -> Deleted:  # noqa: ARG001
    """Permanently delete a trace."""
    (reference,) = ids_in_path(request, "/traces/")
    return await _deleted(server, reference, lambda: server.traces.delete(traces=[reference]))


async def _deleted(server: ServerState, description: str, delete: Callable[[], Deleted]) -> Deleted:
    deleted = await asyncio.to_thread(delete)
    if not deleted.spans:
        raise NotFoundError(f"Nothing is recorded under {description}.")
    event = SpansDeleted(request_id=NO_REQUEST, spans=deleted.spans, traces=deleted.traces)
    await server.app.bus.publish(event)
    return deleted
