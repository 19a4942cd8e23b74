"""Help for queries: the names of the query language, parsed texts, and values to choose from."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from treadle.clock import SystemClock
from treadle.errors import UsageError
from treadle.server.openapi import json_responses
from treadle.server.responses import json_response
from treadle.server.routes.traces import Filter
from treadle.server.state import CurrentServer
from treadle.traces.query import QuerySyntaxError, Rows
from treadle.traces.query.language import Term, parse_terms
from treadle.traces.query.vocabulary import NAMES, VOCABULARY, Takes
from treadle.traces.store.queries.facets import COUNTED
from treadle.traces.store.queries.run_pages import row_level_lists
from treadle.traces.store.results import Facets, FieldValues, ValueCount

router = APIRouter(tags=["query"])

MAX_CHARACTERS = 20_000
"""Limits of a query that a person types."""


class QueryField(BaseModel):
    """A field of the query language.

    `choices` are all its values if they are fixed. `listed`: `/query/values` knows values. In
    lists, a field applies to the spans of a row, one of which must match. Fields in `of_the_whole`
    apply to the row itself.
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
    """All fields of the query language, the most used ones first."""

    data: list[QueryField]


class TermValue(BaseModel):
    """A value in the text: its meaning, and whether it contains a wildcard."""

    text: str
    wildcard: bool
    start: int
    end: int


class QueryTerm(BaseModel):
    """A condition in the text, with its negation. One of its values must match.

    `field` is the name of the field, even if the text has an alias; `text` for plain words.
    """

    start: int
    end: int
    field: str
    operator: str
    negated: bool
    values: list[TermValue]


class QueryProblem(BaseModel):
    """A problem of the text, its position, and a correct form."""

    start: int
    message: str
    hint: str | None


class ParsedQuery(BaseModel):
    """The terms of a query; with a problem, the terms before it.

    Positions count UTF-16 code units from 0, as JavaScript does. An end is exclusive.
    """

    terms: list[QueryTerm]
    problem: QueryProblem | None


class Completing(Filter):
    """The field, and a text that its values contain."""

    field: str = Field(description="a name of the query language")
    prefix: str = Field("", max_length=1_000, description="the beginning or a part of the value")
    limit: int = Field(20, ge=1, le=1_000)


class Faceting(Filter):
    """The list, and the number of values of each facet."""

    rows: Rows = Rows.SPANS
    limit: int = Field(20, ge=1, le=1_000)


@router.get("/query/fields")
async def fields() -> QueryFields:
    """The fields of the query language, for completion and help."""
    return QueryFields(
        data=[
            QueryField(
                name=each.name,
                aliases=each.aliases,
                description=each.description,
                takes=each.takes,
                operators=each.operators,
                choices=each.choices,
                listed=bool(each.choices) or each.field in COUNTED,
                of_the_whole=row_level_lists(each.field),
            )
            for each in VOCABULARY
        ]
    )


@router.get("/query/parse")
async def parse(query: Annotated[str, Query(max_length=MAX_CHARACTERS)] = "") -> ParsedQuery:
    """Parse a query. An incomplete query is valid input: the answer has a `problem`."""
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
    """Values of a field that contain a text. Values that begin with the text come first."""
    name = NAMES.get(parameters.field.lower())
    if name is None:
        raise UsageError(
            f"There is no field {parameters.field!r}.", hint="GET /api/v1/query/fields lists them."
        )

    def make() -> FieldValues:
        if name.choices and name.field not in COUNTED:
            choices = [each for each in name.choices if parameters.prefix.lower() in each]
            values = tuple(ValueCount(each, None) for each in choices[: parameters.limit])
            return FieldValues(name.field, values, more=len(choices) > len(values))
        return server.traces.values(
            name.field, parameters.span_query(), text=parameters.prefix, limit=parameters.limit
        )

    return await json_response(request, make)


@router.get("/facets", response_class=Response, responses=json_responses(Facets))
async def facets(
    server: CurrentServer, parameters: Annotated[Faceting, Query()], request: Request
) -> Response:
    """The facets of a list.

    They count the rows of each status, model, label and so on. Each facet ignores the conditions on
    itself, so that a choice can be changed.
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
    """The position of a character in UTF-16 code units."""
    return len(text[:position].encode("utf-16-le", "surrogatepass")) // 2
