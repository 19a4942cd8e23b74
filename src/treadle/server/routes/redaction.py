"""Previews a redaction rule before it is added to the settings."""

import time
from dataclasses import asdict
from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from treadle.app.span_reading import whole_spans
from treadle.errors import UsageError
from treadle.json_schemas import json_responses
from treadle.secrets import Rule
from treadle.server.responses import json_response
from treadle.server.state import CurrentServer
from treadle.spans.redaction_preview import RedactionPreview, preview
from treadle.traces.query.parameters import SpanParameters

router = APIRouter(prefix="/redaction", tags=["traces"])


class Asked(SpanParameters):
    """A rule, and the spans to test it on, newest first."""

    pattern: str = Field(min_length=1, max_length=10_000, description="a RE2 expression")
    limit: int = Field(1_000, ge=1, le=10_000)
    token: str | None = Field(None, description="the server's token, if it has one")


@router.get("/preview", response_class=Response, responses=json_responses(RedactionPreview))
async def preview_rule(
    server: CurrentServer, asked: Annotated[Asked, Query()], request: Request
) -> Response:
    """The number of matches of a pattern in the stored spans, with a few masked examples."""

    def make() -> dict[str, Any]:
        try:
            rule = Rule("preview", asked.pattern)
        except ValueError as error:
            raise UsageError(f"pattern: {error}.", hint="Use RE2 syntax.") from error
        query = asked.to_query(time.time_ns() // 1_000)
        spans = whole_spans(server.traces, query, newest_first=True)
        return asdict(preview(rule, islice(spans, asked.limit)))

    return await json_response(request, make)
