"""The route that previews a redaction rule before a person adds it to the settings."""

import time
from dataclasses import asdict
from itertools import islice
from typing import Annotated, Any

from fastapi import Query, Request, Response
from pydantic import Field

from treadle.errors import UsageError
from treadle.secrets import Rule
from treadle.server.current_project import CurrentServer
from treadle.server.openapi import json_responses
from treadle.server.responses import json_response
from treadle.server.routers import api_router
from treadle.spans.redaction import RedactionPreview, preview_redaction
from treadle.traces.query.parameters import SpanParameters
from treadle.traces.span_stream import whole_spans

router = api_router("/redaction", "traces")


class PreviewParameters(SpanParameters):
    """A redaction rule, and a query. The rule is tried on the newest `limit` spans of the query."""

    pattern: str = Field(min_length=1, max_length=10_000, description="a RE2 expression")
    limit: int = Field(1_000, ge=1, le=10_000)
    token: str | None = Field(None, description="the server's token, if it has one")


@router.get("/preview", response_class=Response, responses=json_responses(RedactionPreview))
async def preview_rule(
    server: CurrentServer, parameters: Annotated[PreviewParameters, Query()], request: Request
) -> Response:
    """Count the matches of a pattern in stored spans, and return masked examples.

    The request changes neither the spans nor the settings.
    """

    def make_preview() -> dict[str, Any]:
        try:
            rule = Rule("preview", parameters.pattern)
        except ValueError as error:
            raise UsageError(f"pattern: {error}.", hint="Use RE2 syntax.") from error
        query = parameters.to_query(time.time_ns() // 1_000)
        spans = whole_spans(server.traces, query, newest_first=True)
        return asdict(preview_redaction(rule, islice(spans, parameters.limit)))

    return await json_response(request, make_preview)
