"""Routes for editors of queries: the names of fields, parsed queries, and possible values."""

import asyncio
from typing import Annotated

from fastapi import Query, Request, Response
from pydantic import BaseModel, Field

from treadle.clock import SystemClock
from treadle.errors import UsageError
from treadle.server.current_project import CurrentServer
from treadle.server.openapi import json_responses
from treadle.server.responses import json_response
from treadle.server.routers import api_router
from treadle.server.routes.traces import Filter
from treadle.traces.query import QuerySyntaxError, Rows
from treadle.traces.query.language import Term, parse_terms
from treadle.traces.query.vocabulary import NAMES, VOCABULARY, Name, Takes, find_field
from treadle.traces.store.queries.facets import COUNTED
from treadle.traces.store.queries.run_pages import row_level_lists
from treadle.traces.store.results import Facets, FieldValues, ValueCount

router = api_router("", "query")

_MAX_KEYS = 50
"""The maximum number of metadata keys in the list of fields."""

MAX_CHARACTERS = 20_000
"""The maximum length of a query that a person types."""


class QueryField(BaseModel):
    """A field of the query language, such as `model` in `model:gpt-4o`.

    `choices` are all values of the field if it has a fixed set of values. `listed` states whether
    `/query/values` can suggest values. A condition on a field selects a run or thread if one of its
    spans matches. `of_the_whole` names the lists in which the condition applies to the run or
    thread itself.
    """

    name: str
    aliases: tuple[str, ...]
    description: str
    takes: Takes
    operators: tuple[str, ...]
    choices: tuple[str, ...]
    listed: bool
    of_the_whole: tuple[Rows, ...]


class QueryFields(BaseModel):
    """All fields of the query language, most used first."""

    data: list[QueryField]


class TermValue(BaseModel):
    """A value within a term.

    `text` is the value without quotes. `start` and `end` are its position in the query.
    """

    text: str
    wildcard: bool
    start: int
    end: int


class QueryTerm(BaseModel):
    """A condition in the query. It matches if one of its `values` matches.

    `negated` inverts the condition. `field` is the name of the field, even if the query has an
    alias. `field` is `text` for plain words. `start` and `end` are the position of the term in the
    query.
    """

    start: int
    end: int
    field: str
    operator: str
    negated: bool
    values: list[TermValue]


class QueryProblem(BaseModel):
    """A syntax error in the query, its position, and how to correct it."""

    start: int
    message: str
    hint: str | None


class ParsedQuery(BaseModel):
    """A parsed query. If it has a syntax error, `terms` has only the terms before the error.

    Every `start` and `end` is a number of UTF-16 code units from 0, as in JavaScript. `end` is
    exclusive.
    """

    terms: list[QueryTerm]
    problem: QueryProblem | None


class Completing(Filter):
    """A query for the values of `field` that contain the text `prefix`."""

    field: str = Field(description="a name of the query language")
    prefix: str = Field("", max_length=1_000, description="the beginning or a part of the value")
    limit: int = Field(20, ge=1, le=1_000)


class Faceting(Filter):
    """A query for the counts of field values in the list `rows`.

    The response has at most `limit` values of each field.
    """

    rows: Rows = Rows.SPANS
    limit: int = Field(20, ge=1, le=1_000)


@router.get("/query/fields")
async def fields(server: CurrentServer) -> QueryFields:
    """Return all fields of the query language, for completion and help.

    Up to 50 keys of the recorded metadata are also listed, each as a field.
    """
    keys = await asyncio.to_thread(server.traces.metadata_keys, limit=_MAX_KEYS)
    found: list[QueryField] = []
    for each in VOCABULARY:
        if each.keyed:
            found += [_query_field(each, key.written) for key in keys]
        else:
            found.append(_query_field(each, each.name))
    return QueryFields(data=found)


def _query_field(name: Name, written: str) -> QueryField:
    return QueryField(
        name=written,
        aliases=name.aliases,
        description=name.description,
        takes=name.takes,
        operators=name.operators,
        choices=name.choices,
        listed=bool(name.choices) or name.field in COUNTED,
        of_the_whole=row_level_lists(name.field),
    )


@router.get("/query/parse")
async def parse(query: Annotated[str, Query(max_length=MAX_CHARACTERS)] = "") -> ParsedQuery:
    """Parse a query. If it has a syntax error, the status is still 200."""
    terms: list[QueryTerm] = []
    try:
        for term in parse_terms(query, now_us=SystemClock().now_us()):
            terms.append(_term_json(query, term))  # noqa: PERF401  (keeps terms before an error)
    except QuerySyntaxError as error:
        start = _utf16_position(query, error.column - 1)
        problem = QueryProblem(start=start, message=error.what, hint=error.hint)
        return ParsedQuery(terms=terms, problem=problem)
    return ParsedQuery(terms=terms, problem=None)


@router.get("/query/values", response_class=Response, responses=json_responses(FieldValues))
async def values(
    server: CurrentServer, parameters: Annotated[Completing, Query()], request: Request
) -> Response:
    """Return the values of a field that contain a text.

    Values that begin with the text come first.
    """
    field = find_field(parameters.field)
    if field is None:
        raise UsageError(
            f"There is no field {parameters.field!r}.", hint="GET /api/v1/query/fields lists them."
        )

    def make() -> FieldValues:
        name = NAMES.get(parameters.field.lower())
        if name is not None and name.choices and name.field not in COUNTED:
            prefix = parameters.prefix.lower()
            choices = [each for each in name.choices if prefix in each]
            choices.sort(key=lambda each: not each.startswith(prefix))
            values = tuple(ValueCount(each, None) for each in choices[: parameters.limit])
            return FieldValues(name.field.value, values, more=len(choices) > len(values))
        return server.traces.values(
            field, parameters.span_query(), text=parameters.prefix, limit=parameters.limit
        )

    return await json_response(request, make)


@router.get("/facets", response_class=Response, responses=json_responses(Facets))
async def facets(
    server: CurrentServer, parameters: Annotated[Faceting, Query()], request: Request
) -> Response:
    """Count the rows of a list for each value of status, model, label and other fields.

    The counts of a field are its facet. A facet ignores the conditions on its own field. A person
    therefore also sees how many rows the other values would select.
    """
    return await json_response(
        request,
        lambda: server.traces.facets(
            parameters.rows, parameters.span_query(), limit=parameters.limit
        ),
    )


def _term_json(text: str, term: Term) -> QueryTerm:
    return QueryTerm(
        start=_utf16_position(text, term.start),
        end=_utf16_position(text, term.end),
        field=term.name,
        operator=term.operator,
        negated=term.negated,
        values=[
            TermValue(
                text=value.text,
                wildcard=value.special,
                start=_utf16_position(text, value.start),
                end=_utf16_position(text, value.end),
            )
            for value in term.values
        ],
    )


def _utf16_position(text: str, position: int) -> int:
    """Convert a position in characters to a position in UTF-16 code units."""
    return len(text[:position].encode("utf-16-le", "surrogatepass")) // 2
