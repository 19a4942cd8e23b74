"""Errors over HTTP: `{"error": {"message", "hint"}}` and the status."""

import difflib
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from http import HTTPStatus
from typing import Annotated, Unpack, get_args, get_origin

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from typing_extensions import TypedDict

from treadle.errors import ExitStatus, TreadleError, UsageError
from treadle.events.types import HTTP_STATUS
from treadle.experiments.requests import Problem
from treadle.experiments.service import InvalidRequestError
from treadle.json_schemas import DocumentedAs, json_responses
from treadle.server.responses import AsciiJsonResponse
from treadle.tools.failures import kind_of

_log = logging.getLogger(__name__)


class More(TypedDict, total=False):
    """Further fields of some errors: the wrong field, or all problems."""

    field: str | None
    problems: Sequence[Annotated[Mapping[str, str], DocumentedAs(Problem)]]


class ErrorDetail(More):
    """The error in one sentence, and what to do."""

    message: str
    hint: str | None


class ErrorAnswer(TypedDict):
    """The body of every answer that is an error."""

    error: ErrorDetail


ERRORS = json_responses(
    ErrorAnswer, "4XX", description="The request is invalid or not allowed."
) | json_responses(ErrorAnswer, "5XX", description="The server failed.")
"""The errors of every route."""


def add_error_handlers(app: FastAPI) -> None:
    """Answer every error with a sentence and a hint."""
    app.add_exception_handler(TreadleError, _treadle_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(OSError, _system_error)
    for kind in _OF_INPUT:
        app.add_exception_handler(kind, _unfit)
    app.add_exception_handler(Exception, _unexpected)


def error_body(message: str, hint: str | None = None, **more: Unpack[More]) -> ErrorAnswer:
    """The body of every answer that is an error."""
    return {"error": {"message": message, "hint": hint, **more}}


def refuse_wrong_parameters(request: Request) -> None:
    """Raise UsageError for an unknown query parameter, which may be a typing error.

    Also for a repeated parameter with a single value, since the route would ignore the first one.
    """
    route = request.scope["route"]
    assert isinstance(route, APIRoute)
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
    """The names and types of the query parameters of a route, including the fields of models."""
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
    body = error_body(error.message, error.hint)
    if isinstance(error, InvalidRequestError):
        body["error"]["problems"] = [asdict(each) for each in error.problems]
    return AsciiJsonResponse(body, status_code=status)


async def _system_error(_request: Request, error: Exception) -> AsciiJsonResponse:
    """A refusal of the operating system: an impossible name, a full disk."""
    assert isinstance(error, OSError)
    reason = error.strerror or type(error).__name__
    body = error_body(
        f"The operating system refused it: {reason}.",
        "Check the name, the permissions and the disk.",
    )
    return AsciiJsonResponse(body, status_code=HTTP_STATUS[kind_of(error)])


_OF_INPUT: Mapping[type[Exception], str] = {
    UnicodeError: "A text in it is not valid Unicode.",
    OverflowError: "A number in it is too large.",
    RecursionError: "It is nested too deeply.",
}
"""Exceptions that only the input of a caller can cause, and that no check prevented."""


async def _unfit(_request: Request, error: Exception) -> AsciiJsonResponse:
    _log.warning("A request was refused late", exc_info=error)
    said = next(said for kind, said in _OF_INPUT.items() if isinstance(error, kind))
    message = f"The request is invalid. {said}"
    return AsciiJsonResponse(error_body(message, "Change it."), status_code=422)


def _nearest(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.5)
    meant = f"Did you mean {near[0]!r}? " if near else ""
    return f"{meant}See /api/openapi.json for the parameters and fields."


async def _invalid(_request: Request, error: Exception) -> AsciiJsonResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place, *path = first["loc"]
    field = ".".join(map(str, path))
    hint = "See /api/openapi.json for the parameters and fields."
    if first["type"] == "extra_forbidden":
        message = f"There is no {_PLACES.get(place, 'field')} {field!r}."
    elif first["type"] == "json_invalid":
        message, field = "The body is not valid JSON.", ""
    else:
        message = f"{field or place}: {first['msg']}."
    body = error_body(message, hint, field=field or None)
    return AsciiJsonResponse(body, status_code=422)


_PLACES = {"query": "parameter", "body": "field"}


async def _http(_request: Request, error: Exception) -> AsciiJsonResponse:
    assert isinstance(error, HTTPException)
    hint = "See /api/openapi.json for the addresses." if error.status_code in {404, 405} else None
    body = error_body(str(error.detail).rstrip(".") + ".", hint)
    return AsciiJsonResponse(body, status_code=error.status_code, headers=error.headers)


async def _unexpected(_request: Request, error: Exception) -> AsciiJsonResponse:
    what = f"Unexpected {type(error).__name__}."
    return AsciiJsonResponse(error_body(what, "The server's log has details."), status_code=500)
