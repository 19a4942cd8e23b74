"""Routes that search the code and return the code context for a question."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from treadle.app.code_exploration import (
    Excerpt,
    Neighbours,
    Relation,
    neighbours,
    read_excerpt,
)
from treadle.app.completion import Completion, complete
from treadle.code import SearchResults, View
from treadle.errors import NotFoundError, UsageError
from treadle.events.types import SourceRange
from treadle.server.current_project import CurrentServer, require_repository
from treadle.server.openapi import JsonOf, json_responses
from treadle.server.routers import api_router
from treadle.server.routes.tools import answer
from treadle.server.state import ServerState
from treadle.toolbox.code.request_code_context import CodeContextResult

router = api_router("/code", "code", dependencies=[Depends(require_repository)])


class _CodeQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    q: str = Field(min_length=1, max_length=10_000, description="a symbol, a path or a question")
    repo: str | None = Field(None, description="the repository; default: the served one")
    token: str | None = Field(None, description="the server's token, if it has one")


class SearchQuery(_CodeQuery):
    """The query of a search, the number of results, and whether they are items or files."""

    top_k: int = Field(10, ge=1, le=1_000)
    view: View = View.ITEMS


class ContextQuery(_CodeQuery):
    """A question, and the maximum size of the returned context in tokens."""

    budget: int = Field(4_000, ge=1, le=1_000_000)


@router.get("/search")
async def search(
    server: CurrentServer, query: Annotated[SearchQuery, Query()]
) -> JsonOf[SearchResults]:
    """Update the index, then return the best matches in the format of `search --json`."""
    _check(server, query)
    return await asyncio.to_thread(_fresh_results, server, query)


@router.get("/context", response_class=Response, responses=json_responses(CodeContextResult))
async def context(server: CurrentServer, query: Annotated[ContextQuery, Query()]) -> Response:
    """Return the code context of a question as models get it, in the format of `context --json`."""
    _check(server, query)
    arguments = json.dumps({"token_budget": query.budget, "hint": query.q})
    return answer(await server.app.executor.call("request_code_context", arguments, vendor="http"))


@dataclass(frozen=True, slots=True)
class CompletionList:
    """The completions of a name, best first."""

    data: Sequence[Completion]


@router.get("/completions")
async def completions(
    server: CurrentServer, typed: Annotated[str, Query(max_length=4_096)] = ""
) -> JsonOf[CompletionList]:
    """Return the files, folders and items of the index whose names match the typed text."""
    return CompletionList(await asyncio.to_thread(complete, server.app.index, typed))


@router.get("/excerpt")
async def excerpt(
    server: CurrentServer,
    file: Annotated[str, Query(min_length=1, max_length=4_096)],
    first_line: Annotated[int, Query(ge=1)],
    last_line: Annotated[int, Query(ge=1)],
) -> JsonOf[Excerpt]:
    """Return lines of a file of the repository as they are on disk now."""
    source = SourceRange(file, first_line, last_line)
    return await asyncio.to_thread(read_excerpt, server.app.root, server.app.index, source)


@router.get("/neighbours")
async def item_neighbours(
    server: CurrentServer,
    name: Annotated[str, Query(min_length=1, max_length=1_000)],
    file: Annotated[str, Query(min_length=1, max_length=4_096)],
    relation: Relation,
) -> JsonOf[Neighbours]:
    """Return the callers, callees or implementations of an item of the index."""
    return await asyncio.to_thread(neighbours, server.app.index, name, file, relation)


def _fresh_results(server: ServerState, query: SearchQuery) -> SearchResults:
    server.app.index.refresh()
    return server.app.index.search(query.q, top_k=query.top_k, view=query.view)


def _check(server: ServerState, query: _CodeQuery) -> None:
    if not query.q.strip():
        raise UsageError("The query is empty.", hint="Set the parameter `q`.")
    if query.repo is not None and not _is_root(query.repo, server.app.root):
        raise NotFoundError(
            f"This server serves {server.app.root}, not {query.repo}.",
            hint="Start another server with `treadle serve --repo PATH --port N`.",
        )


def _is_root(name: str, root: Path) -> bool:
    try:
        return Path(name).resolve() == root
    except (ValueError, OSError):  # the name has a NUL character or is too long
        return False
