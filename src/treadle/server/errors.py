"""Error responses: the body `{"error": {"message", "hint"}}` with a matching HTTP status."""

import difflib
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, get_args, get_origin

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from treadle.errors import ExitStatus, TreadleError, UsageError
from treadle.events.types import HTTP_STATUS
from treadle.experiments.requests import Problem
from treadle.experiments.service import InvalidRequestError
from treadle.json_values import JsonField, to_json
from treadle.server.openapi import json_responses
from treadle.server.responses import AsciiJsonResponse
from treadle.tools.failures import kind_of

_log = logging.getLogger(__name__)


def _name_or_none(name: str) -> str | None:
    return name or None


@dataclass(frozen=True, slots=True)
class ErrorDetail:
    """An error as one sentence, and a hint that states what to do.

    For an invalid request, `field` names the first invalid field. For an invalid experiment,
    `problems` contains all errors.
    """

    message: str
    hint: str | None = None
    field: Annotated[str | None, JsonField(write=_name_or_none, optional=True)] = None
    """The name of the invalid field. It is empty if the whole body is invalid."""
    problems: Annotated[Sequence[Problem] | None, JsonField(optional=True)] = None


@dataclass(frozen=True, slots=True)
class ErrorAnswer:
    """The body of every error response."""

    error: ErrorDetail


ERRORS = json_responses(
    ErrorAnswer, "4XX", description="The request is invalid or not allowed."
) | json_responses(ErrorAnswer, "5XX", description="The server failed.")
"""The error responses of every route, for the OpenAPI document."""


def add_error_handlers(app: FastAPI) -> None:
    """Register the functions that convert exceptions into error responses."""
    app.add_exception_handler(TreadleError, _treadle_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(OSError, _system_error)
    for kind in _VALUE_ERRORS:
        app.add_exception_handler(kind, _invalid_value)
    app.add_exception_handler(Exception, _unexpected)


def _response(
    error: ErrorDetail, status: int, headers: Mapping[str, str] | None = None
) -> AsciiJsonResponse:
    return AsciiJsonResponse(to_json(ErrorAnswer(error)), status_code=status, headers=headers)


def refuse_wrong_parameters(request: Request, route: APIRoute) -> None:
    """Raise UsageError for an unknown query parameter, or a repeated single-value parameter.

    A repeated parameter is an error, since only its last value would have an effect.
    """
    known = _parameters(route) | {"token": str}
    counts = Counter(name for name, _ in request.query_params.multi_items())
    for name, count in counts.items():
        if name not in known:
            raise UsageError(f"There is no parameter {name!r}.", hint=_nearest(name, known))
        if count > 1 and not _takes_several(known[name]):
            raise UsageError(
                f"The parameter {name!r} is given {count} times.", hint="Give it once."
            )


def _parameters(route: APIRoute) -> dict[str, object]:
    """Return the names and types of the query parameters of a route."""
    known: dict[str, object] = {}
    for field in route.dependant.query_params:
        kind = field.field_info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            known |= {name: each.annotation for name, each in kind.model_fields.items()}
        else:
            known[field.alias] = kind
    return known


def _takes_several(kind: object) -> bool:
    return any(get_origin(each) in {list, tuple} for each in (kind, *get_args(kind)))


async def _treadle_error(_request: Request, error: Exception) -> AsciiJsonResponse:
    assert isinstance(error, TreadleError)
    provider = error.exit_status is ExitStatus.PROVIDER
    status = HTTPStatus.BAD_GATEWAY if provider else HTTP_STATUS[kind_of(error)]
    problems = error.problems if isinstance(error, InvalidRequestError) else None
    return _response(ErrorDetail(error.message, error.hint, problems=problems), status)


async def _system_error(_request: Request, error: Exception) -> AsciiJsonResponse:
    """Answer an OSError with its reason, for example an invalid file name or a full disk."""
    assert isinstance(error, OSError)
    reason = error.strerror or type(error).__name__
    detail = ErrorDetail(
        f"The operating system refused it: {reason}.",
        "Check the name, the permissions and the disk.",
    )
    return _response(detail, HTTP_STATUS[kind_of(error)])


_VALUE_ERRORS: Mapping[type[Exception], str] = {
    UnicodeError: "A text in it is not valid Unicode.",
    OverflowError: "A number in it is too large.",
    RecursionError: "It is nested too deeply.",
}
"""Python exceptions that only a value in the request can cause, each with its explanation."""


async def _invalid_value(_request: Request, error: Exception) -> AsciiJsonResponse:
    _log.warning("A handler failed on an invalid value of a request", exc_info=error)
    reason = next(text for kind, text in _VALUE_ERRORS.items() if isinstance(error, kind))
    return _response(ErrorDetail(f"The request is invalid. {reason}", "Change it."), 422)


def _nearest(name: str, names: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, sorted(names), n=1, cutoff=0.5)
    suggestion = f"Did you mean {near[0]!r}? " if near else ""
    return f"{suggestion}See /api/openapi.json for the parameters and fields."


async def _invalid(_request: Request, error: Exception) -> AsciiJsonResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    source, *path = first["loc"]
    field = ".".join(map(str, path))
    hint = "See /api/openapi.json for the parameters and fields."
    if first["type"] == "extra_forbidden":
        message = f"There is no {_SOURCES.get(source, 'field')} {field!r}."
    elif first["type"] == "json_invalid":
        message, field = "The body is not valid JSON.", ""
    else:
        message = f"{field or source}: {first['msg']}."
    return _response(ErrorDetail(message, hint, field), 422)


_SOURCES = {"query": "parameter", "body": "field"}


async def _http(_request: Request, error: Exception) -> AsciiJsonResponse:
    assert isinstance(error, HTTPException)
    hint = "See /api/openapi.json for the addresses." if error.status_code in {404, 405} else None
    detail = ErrorDetail(str(error.detail).rstrip(".") + ".", hint)
    return _response(detail, error.status_code, error.headers)


async def _unexpected(_request: Request, error: Exception) -> AsciiJsonResponse:
    detail = ErrorDetail(f"Unexpected {type(error).__name__}.", "The server's log has details.")
    return _response(detail, 500)
