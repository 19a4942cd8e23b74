"""Routes that stream files: whole lists, and traces, runs, threads or spans as an HTML page."""

import asyncio
from collections.abc import Iterator
from itertools import chain
from typing import Annotated, Any

from fastapi import Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from treadle.display.trace_html import html_page
from treadle.server.current_project import CurrentServer
from treadle.server.download_tickets import DOWNLOADS
from treadle.server.identity_services import CurrentIdentityServices
from treadle.server.path_ids import ids_in_path, rest_of_path
from treadle.server.request_identity import ticket_holder
from treadle.server.routers import api_router
from treadle.server.routes.traces import Grouped, Sorting
from treadle.traces.list_export import (
    ExportedList,
    ListFormat,
    all_groups,
    all_runs,
    all_spans,
    all_threads,
    encoded,
)
from treadle.traces.query import read_grouping
from treadle.traces.subjects import Subject, find_subject, traces_of

router = api_router("/exports", "traces")

_BYTES = 64 << 10
_TEXT = {"schema": {"type": "string"}}
_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"content": {form.media_type.partition(";")[0]: _TEXT for form in ListFormat}}
}


class ListExport(Sorting):
    """The parameters that select and sort the rows of an exported list."""

    format: ListFormat = Field(ListFormat.CSV, description="the format of the file")


class GroupExport(Grouped):
    """The parameters that select the spans of exported groups."""

    format: ListFormat = Field(ListFormat.CSV, description="the format of the file")


@router.get("/threads", response_class=Response, responses=_RESPONSES)
async def threads(server: CurrentServer, parameters: Annotated[ListExport, Query()]) -> Response:
    """Return all threads with matching spans as a file."""
    found = all_threads(server.traces, parameters.span_query(), parameters.order())
    return await _file("threads", found, parameters.format)


@router.get("/runs", response_class=Response, responses=_RESPONSES)
async def runs(server: CurrentServer, parameters: Annotated[ListExport, Query()]) -> Response:
    """Return all runs with matching spans as a file."""
    found = all_runs(server.traces, parameters.span_query(), parameters.order())
    return await _file("runs", found, parameters.format)


@router.get("/spans", response_class=Response, responses=_RESPONSES)
async def spans(server: CurrentServer, parameters: Annotated[ListExport, Query()]) -> Response:
    """Return all matching spans, without their full content, as a file."""
    found = all_spans(server.traces, parameters.span_query(), parameters.order())
    return await _file("spans", found, parameters.format)


@router.get("/groups", response_class=Response, responses=_RESPONSES)
async def groups(server: CurrentServer, parameters: Annotated[GroupExport, Query()]) -> Response:
    """Return all groups of the matching spans as a file."""
    by = read_grouping(parameters.group_by)
    found = all_groups(
        server.traces,
        by,
        parameters.span_query(),
        parameters.bucket_size,
        parameters.sort,
        ascending=parameters.ascending,
    )
    return await _file("groups", found, parameters.format)


class DownloadTarget(BaseModel):
    """A download: the path and the query of a `GET` request for an export."""

    model_config = ConfigDict(extra="forbid")

    path: str = Field(max_length=60_000, pattern=rf"^{DOWNLOADS}[!-~]+$")


class DownloadLink(BaseModel):
    """A link to a download. It is valid once, for a minute, and without other credentials."""

    path: str


@router.post("/links")
async def link(
    request: Request, services: CurrentIdentityServices, target: DownloadTarget
) -> DownloadLink:
    """Return a link to a download. A browser can follow it without the page key."""
    path = await services.downloads.issue(target.path, ticket_holder(request.scope))
    return DownloadLink(path=path)


@router.get(
    "/html",
    response_class=Response,
    responses={200: {"content": {"text/html": _TEXT}}},
)
async def html_of_several(
    server: CurrentServer, reference: Annotated[list[str], Query(min_length=1, max_length=1_000)]
) -> Response:
    """Return the traces, runs, threads or spans with the given ids as one HTML page.

    The page has no scripts.
    """

    def read() -> list[Subject]:
        return [find_subject(server.traces, each) for each in reference]

    subjects = await asyncio.to_thread(read)
    kinds = {subject.kind for subject in subjects}
    noun = kinds.pop() if len(kinds) == 1 else "record"
    title = str(subjects[0]) if len(subjects) == 1 else f"{len(subjects):,} {noun}s"
    traces = chain.from_iterable(traces_of(server.traces, subject) for subject in subjects)
    return await _streamed(f"{noun}s.html", html_page(title, traces), "text/html; charset=utf-8")


@router.get(
    "/html/" + rest_of_path("reference"),
    response_class=Response,
    responses={200: {"content": {"text/html": _TEXT}}},
)
async def html(server: CurrentServer, request: Request, reference: str) -> Response:
    """Return the trace, run or thread with an id as one HTML page without scripts."""
    (reference,) = ids_in_path(request, "/html/")
    subject = await asyncio.to_thread(find_subject, server.traces, reference)
    parts = html_page(str(subject), traces_of(server.traces, subject))
    return await _streamed(f"{subject.kind}.html", parts, "text/html; charset=utf-8")


async def _file(name: str, exported: ExportedList, form: ListFormat) -> Response:
    return await _streamed(f"{name}.{form}", encoded(exported, form), form.media_type)


async def _streamed(name: str, lines: Iterator[bytes], media_type: str) -> Response:
    """Return a response that streams a file. Each part is read in a thread.

    The first part is read before the response starts. An error in it then sets the status of the
    response.
    """
    parts = _joined(lines)
    first = await asyncio.to_thread(next, parts, b"")
    headers = {
        "Content-Disposition": f'attachment; filename="{name}"',
        "X-Content-Type-Options": "nosniff",
    }
    return StreamingResponse(chain([first], parts), media_type=media_type, headers=headers)


def _joined(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Join lines into larger parts, since each part of a response has a fixed cost."""
    waiting = bytearray()
    for line in lines:
        waiting += line
        if len(waiting) >= _BYTES:
            yield bytes(waiting)
            waiting.clear()
    yield bytes(waiting)
