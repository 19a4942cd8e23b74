"""Routes that list, count, show and delete recorded spans."""

import asyncio
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Path, Query, Request, Response
from pydantic import Field

from treadle.app.comparison_candidates import ComparisonCandidates, comparison_candidates
from treadle.app.context_plan import ContextPlan
from treadle.app.recorded_context import recorded_plan
from treadle.app.trace_comparison import compare_recorded
from treadle.diagnosis.comparison_records import TraceComparison
from treadle.display.trace_tree import TraceView, view_trace
from treadle.errors import NotFoundError
from treadle.events.changes import SpansDeleted
from treadle.ids import NO_REQUEST
from treadle.json_values import JsonField
from treadle.server.current_project import CurrentServer
from treadle.server.openapi import json_responses, object_type
from treadle.server.path_ids import ids_in_path, rest_of_path
from treadle.server.responses import json_response
from treadle.server.routers import api_router
from treadle.server.span_content import SpanContent, previewed_span, whole_span
from treadle.server.state import ServerState
from treadle.spans.span import Trace
from treadle.traces.nested_groups import MAX_OUTER, NestedGroup, Nesting, nested_groups
from treadle.traces.own_spans import without_own
from treadle.traces.query import (
    Condition,
    GroupSort,
    Operator,
    Page,
    Sort,
    SortKey,
    any_of,
    read_grouping,
)
from treadle.traces.query import Field as About
from treadle.traces.query import Query as SpanQuery
from treadle.traces.query.pages import Pagination
from treadle.traces.query.parameters import GroupingName, SpanParameters
from treadle.traces.store.results import (
    Deleted,
    Group,
    Hit,
    LabelCounts,
    ListedSpan,
    RunSummary,
    RunTotals,
    ThreadSummary,
)
from treadle.traces.store.skeleton import Skeleton
from treadle.traces.store.summary import Summary

router = api_router("", "traces")

_SHOWN_TYPES = ("image/", "audio/", "video/", "text/plain")
"""Media types that a browser may display, except SVG images, which can contain scripts."""


class Filter(SpanParameters):
    """The parameters that select spans."""

    token: str | None = Field(None, description="the server's token, if it has one")

    def span_query(self) -> SpanQuery:
        """Return the conditions that the parameters express.

        They exclude Treadle's own model calls, unless the parameters ask for these calls. Raises
        UsageError for an invalid time or query.
        """
        return without_own(self.to_query(time.time_ns() // 1_000))


class Sorting(Filter):
    """The parameters that select spans and the order of a list."""

    sort: SortKey = SortKey.TIME
    ascending: bool = False

    def order(self) -> Sort:
        """Return the order of the list."""
        return Sort(self.sort, self.ascending)


class Paging(Sorting):
    """The parameters that select spans and one page of a sorted list."""

    limit: int = Field(50, ge=1, le=1_000)
    offset: int = Field(0, ge=0, le=1_000_000)
    cursor: str | None = Field(None, description="the cursor of the previous page")

    def page(self) -> dict[str, Any]:
        """Return the parameters of the page as keyword arguments of the store's methods."""
        page = {"limit": self.limit, "offset": self.offset, "cursor": self.cursor}
        return {"sort": self.order(), **page}


class Searching(Paging):
    """The parameters of a text search. The text can also be part of `query`."""

    q: str | None = Field(None, min_length=1, max_length=10_000, description="literal text")

    def span_query(self) -> SpanQuery:
        """Return the conditions with the searched text.

        Raises UsageError for an invalid time or query.
        """
        query = super().span_query()
        if self.q is None:
            return query
        return query & SpanQuery((Condition(About.TEXT, Operator.CONTAINS, (self.q,)),))


class Grouped(Filter):
    """The parameters that group spans."""

    group_by: GroupingName
    bucket_size: int = Field(3_600, ge=1, le=366 * 86_400, description="seconds, for `time`")
    sort: GroupSort | None = Field(
        None, description="by default `group` (the newest first) for `time`, and else `spans`"
    )
    ascending: bool = False


class Grouping(Grouped):
    """The parameters that group spans and select a range of the groups."""

    figures: bool = Field(
        True, description="add runs, failed runs and durations, which takes longer"
    )
    limit: int = Field(50, ge=1, le=10_000)
    offset: int = Field(0, ge=0, le=1_000_000)


class Nested(Grouped):
    """The parameters that group spans by two properties and select a range of the outer groups."""

    then_by: GroupingName
    limit: int = Field(10, ge=1, le=MAX_OUTER)
    offset: int = Field(0, ge=0, le=1_000_000)


class Counting(Filter):
    """The parameters that select spans, and the maximum number of labels in the response."""

    limit: int = Field(100, ge=1, le=10_000)


def _page_type(item: type) -> Any:
    """Build the type of a page of `item` rows for the OpenAPI document."""
    name = item.__name__.removeprefix("Listed").removesuffix("Summary") + "Page"
    return object_type(name, Page, {"data": list[item], "pagination": Pagination})  # type: ignore[valid-type]  # known at run time


def _page_responses(item: type) -> dict[int | str, dict[str, Any]]:
    return json_responses(lambda: _page_type(item))


@dataclass(frozen=True, slots=True)
class RunWithSpans:
    """A run with one page of its spans in chronological order."""

    run: Annotated[RunSummary, JsonField(inline=True)]
    spans: Annotated[Page[ListedSpan], JsonField(documented_as=lambda: _page_type(ListedSpan))]


@router.get("/threads", response_class=Response, responses=_page_responses(ThreadSummary))
async def threads(
    server: CurrentServer, parameters: Annotated[Paging, Query()], request: Request
) -> Response:
    """Return the threads with matching spans.

    By default, the thread with the newest run comes first.
    """
    return await _page(request, parameters, server.traces.threads)


@router.get("/runs", response_class=Response, responses=_page_responses(RunSummary))
async def runs(
    server: CurrentServer, parameters: Annotated[Paging, Query()], request: Request
) -> Response:
    """Return the runs with matching spans, by default newest first."""
    return await _page(request, parameters, server.traces.runs)


@router.get("/spans", response_class=Response, responses=_page_responses(ListedSpan))
async def spans(
    server: CurrentServer, parameters: Annotated[Paging, Query()], request: Request
) -> Response:
    """Return the matching spans without their full content, by default newest first."""
    return await _page(request, parameters, server.traces.spans)


@router.get("/search", response_class=Response, responses=_page_responses(Hit))
async def search(
    server: CurrentServer, parameters: Annotated[Searching, Query()], request: Request
) -> Response:
    """Return the spans that contain a text, each with an excerpt and the positions of the text."""
    return await _page(request, parameters, server.traces.search)


async def _page(request: Request, parameters: Paging, read: Callable[..., Page[Any]]) -> Response:
    return await json_response(request, lambda: read(parameters.span_query(), **parameters.page()))


@router.get("/groups", response_class=Response, responses=_page_responses(Group))
async def groups(
    server: CurrentServer, parameters: Annotated[Grouping, Query()], request: Request
) -> Response:
    """Group the spans by time, model, user, a value of the metadata, or another field.

    The response has the spans, tokens, cost, runs, failed runs and durations of each group. The
    group with an empty value has the spans that have no value of the field.
    """
    return await json_response(
        request,
        lambda: server.traces.groups(
            read_grouping(parameters.group_by),
            parameters.span_query(),
            sort=parameters.sort,
            ascending=parameters.ascending,
            bucket_seconds=parameters.bucket_size,
            figures=parameters.figures,
            limit=parameters.limit,
            offset=parameters.offset,
        ),
    )


@router.get("/nested_groups", response_class=Response, responses=_page_responses(NestedGroup))
async def groups_in_groups(
    server: CurrentServer, parameters: Annotated[Nested, Query()], request: Request
) -> Response:
    """Group the spans by one field, and the spans of each group by a second field.

    An example is the use of each model by day.
    """
    nesting = Nesting(
        read_grouping(parameters.group_by),
        read_grouping(parameters.then_by),
        parameters.bucket_size,
        parameters.sort,
        parameters.ascending,
    )
    limit, offset = parameters.limit, parameters.offset
    return await json_response(
        request,
        lambda: nested_groups(
            server.traces, nesting, parameters.span_query(), limit=limit, offset=offset
        ),
    )


@router.get("/labels", response_class=Response, responses=json_responses(LabelCounts))
async def labels(
    server: CurrentServer, parameters: Annotated[Counting, Query()], request: Request
) -> Response:
    """Return the labels of the matching spans with the number of spans, most frequent first."""
    return await json_response(
        request, lambda: server.traces.labels(parameters.span_query(), limit=parameters.limit)
    )


@router.get("/summary", response_class=Response, responses=json_responses(Summary))
async def summary(
    server: CurrentServer, parameters: Annotated[Filter, Query()], request: Request
) -> Response:
    """Return the counts, sums and percentiles of all matching spans."""
    return await json_response(request, lambda: server.traces.summary(parameters.span_query()))


@router.get("/run_totals", response_class=Response, responses=json_responses(RunTotals))
async def totals_of_runs(
    server: CurrentServer, parameters: Annotated[Filter, Query()], request: Request
) -> Response:
    """Return the sums, failures and durations of all runs that `/runs` lists for these parameters.

    The sums include all spans of these runs, also spans that do not match.
    """
    return await json_response(request, lambda: server.traces.run_totals(parameters.span_query()))


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
    """Return a run with its spans in chronological order.

    `spans.pagination` contains the cursor of the next page of spans.
    """
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
    """Return all spans of a trace, as one array for each column and without content."""
    (reference,) = ids_in_path(request, "/traces/")
    return await json_response(request, lambda: server.traces.skeleton(reference))


@router.get(
    "/trace_views/" + rest_of_path("trace_id"),
    response_class=Response,
    responses=json_responses(TraceView),
)
async def trace_view(server: CurrentServer, request: Request, trace_id: str) -> Response:  # noqa: ARG001
    """Return a trace as the rows of a tree, as the terminal shows it."""
    (reference,) = ids_in_path(request, "/trace_views/")
    return await json_response(request, lambda: view_trace(server.traces.trace(reference)))


@router.get("/comparison", response_class=Response, responses=json_responses(TraceComparison))
async def comparison(server: CurrentServer, request: Request, a: str, b: str) -> Response:
    """Return the differences between two traces, runs, threads or spans, step by step.

    `a` and `b` are ids. A prefix of the id of a trace is enough. The id of a span is `TRACE/SPAN`.
    """
    return await json_response(request, lambda: compare_recorded(server.traces, a, b))


@router.get(
    "/comparison_candidates",
    response_class=Response,
    responses=json_responses(ComparisonCandidates),
)
async def candidates(server: CurrentServer, request: Request, id: str) -> Response:  # noqa: A002
    """Return runs or threads to compare a trace, run or thread with, the most similar first."""
    return await json_response(request, lambda: comparison_candidates(server.traces, id))


@router.get(
    "/whole_traces/" + rest_of_path("trace_id"),
    response_class=Response,
    responses=json_responses(Trace),
)
async def whole_trace(server: CurrentServer, request: Request, trace_id: str) -> Response:  # noqa: ARG001
    """Return all spans of a trace with their content."""
    (reference,) = ids_in_path(request, "/whole_traces/")
    return await json_response(request, lambda: server.traces.trace(reference))


@router.get(
    "/recorded_plans/" + rest_of_path("ids"),
    response_class=Response,
    responses=json_responses(ContextPlan),
)
async def recorded_context(server: CurrentServer, request: Request, ids: str) -> Response:  # noqa: ARG001
    """Return the content of a recorded model request by section. The path ends with TRACE/SPAN."""
    trace_id, span_id = ids_in_path(request, "/recorded_plans/", 2)
    return await json_response(request, lambda: recorded_plan(server.traces, trace_id, span_id))


@router.get(
    "/spans/" + rest_of_path("ids"),
    response_class=Response,
    responses=json_responses(SpanContent),
)
async def span(server: CurrentServer, request: Request, ids: str, whole: bool = False) -> Response:  # noqa: ARG001
    """Return a span with its content. The path is `/spans/TRACE/SPAN`.

    Only the beginning of a large value is included, unless `whole` is set. `cut` lists the
    shortened values, and the hashes with which `/blobs` returns their parts.
    """
    trace_id, span_id = ids_in_path(request, "/spans/", 2)

    def make() -> SpanContent:
        found = server.traces.span(trace_id, span_id)
        if found is None:
            raise NotFoundError(f"There is no span {span_id} in the trace {trace_id}.")
        shown = whole_span if whole else previewed_span
        return shown(found, server.traces.same_call(trace_id, span_id))

    return await json_response(request, make)


@router.get(
    "/contexts/" + rest_of_path("ids"),
    response_class=Response,
    responses=json_responses(ContextPlan),
)
async def context(server: CurrentServer, request: Request, ids: str) -> Response:  # noqa: ARG001
    """Return the content of a recorded model request by section, at `/contexts/TRACE/SPAN`."""
    trace_id, span_id = ids_in_path(request, "/contexts/", 2)
    return await json_response(request, lambda: recorded_plan(server.traces, trace_id, span_id))


_MEDIA_TYPE = re.compile(r"[a-zA-Z0-9!#$&^_.+-]{1,100}/[a-zA-Z0-9!#$&^_.+-]{1,100}", re.ASCII)


@router.get(
    "/blobs/{digest}",
    response_class=Response,
    responses={200: {"content": {"*/*": {"schema": {"type": "string", "format": "binary"}}}}},
)
async def blob(
    server: CurrentServer, digest: Annotated[str, Path(pattern="^[0-9a-f]{64}$")]
) -> Response:
    """Return a large value or an attachment by its hash, 256-bit BLAKE2b.

    A browser downloads content that could run scripts, instead of displaying it.
    """
    found = await asyncio.to_thread(server.traces.blob, digest)
    if found is None:
        raise NotFoundError(f"There is no blob {digest}.")
    media_type = found.media_type or ""
    # The media type is recorded text. It may contain characters that a header cannot contain.
    if not _MEDIA_TYPE.fullmatch(media_type):
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
