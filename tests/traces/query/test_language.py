from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treadle.spans.span import SpanKind, SpanStatus
from treadle.traces.query import (
    Condition,
    Field,
    Operator,
    Query,
    QuerySyntaxError,
    any_of,
    format_query,
    parse_query,
)
from treadle.traces.query.conditions import NUMERIC
from treadle.traces.query.patterns import literal

HOUR = 3_600_000_000
NOW = 1_900_000_000_000_000  # 2030-03-17T17:46:40Z
TODAY = NOW - NOW % (24 * HOUR)


def parsed(text: str) -> tuple[Condition, ...]:
    return parse_query(text, now_us=NOW).conditions


def text_is(text: str, *, negated: bool = False) -> Condition:
    return Condition(Field.TEXT, Operator.CONTAINS, (text,), negated)


def metadata(key: str, *values: str, negated: bool = False) -> Condition:
    return Condition(Field.METADATA, Operator.IS, values, negated, key)


def starts(operator: Operator, moment: int) -> Condition:
    return Condition(Field.START, operator, (moment,))


def microseconds(*date: int) -> int:
    year, month, day, hour, minute = (*date, *(0,) * (5 - len(date)))
    moment = datetime(year, month, day, hour, minute, tzinfo=UTC)
    return int(moment.timestamp()) * 1_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        (" \t\n", ()),
        ("status:error", (any_of(Field.STATUS, ["error"]),)),
        ("STATUS:Error", (any_of(Field.STATUS, ["error"]),)),
        ("kind:tool,model", (any_of(Field.KIND, ["tool", "model"]),)),
        ("label:a,b", (any_of(Field.LABEL, ["a", "b"]),)),
        ("label:a label:b", (any_of(Field.LABEL, ["a"]), any_of(Field.LABEL, ["b"]))),
        ("-model:x", (any_of(Field.MODEL, ["x"], negated=True),)),
        ("not model:x", (any_of(Field.MODEL, ["x"], negated=True),)),
        ("NOT -model:x", (any_of(Field.MODEL, ["x"]),)),
        ('model:"a:b c"', (any_of(Field.MODEL, ["a:b c"]),)),
        ("user:alice", (any_of(Field.USER, ["alice"]),)),
        ("release:1.4", (any_of(Field.RELEASE, ["1.4"]),)),
        ("metadata.tenant:acme", (metadata("tenant", "acme"),)),
        (
            "metadata.seats>=2.5",
            (Condition(Field.METADATA, Operator.AT_LEAST, ("2.5",), key="seats"),),
        ),
        ("Metadata.plan.Name:a,b", (metadata("plan.Name", "a", "b"),)),
        ("not metadata.tenant:acme", (metadata("tenant", "acme", negated=True),)),
        (r'metadata."a \"b\": c":x', (metadata('a "b": c', "x"),)),
        ("metadata.tenant", (text_is("metadata.tenant"),)),
        ("model=vendor/x:free", (any_of(Field.MODEL, ["vendor/x:free"]),)),
        ("model:gpt*", (Condition(Field.MODEL, Operator.LIKE, ("gpt*",)),)),
        ('model:"gpt*"', (any_of(Field.MODEL, ["gpt*"]),)),
        ('name:"a*"?', (Condition(Field.NAME, Operator.LIKE, (r"a\*?",)),)),
        ("thread:a*", (any_of(Field.THREAD, ["a*"]),)),
        ("run:not-a-uuid", (any_of(Field.RUN, ["not-a-uuid"]),)),
        ("op:chat", (any_of(Field.OPERATION, ["chat"]),)),
        ("cost>0.01", (Condition(Field.COST, Operator.MORE, (10_000_000,)),)),
        ("cost:<=$2", (Condition(Field.COST, Operator.AT_MOST, (2_000_000_000,)),)),
        ("duration>2s", (Condition(Field.DURATION, Operator.MORE, (2_000_000,)),)),
        ("duration<250ms", (Condition(Field.DURATION, Operator.LESS, (250_000,)),)),
        ("ttft>=0", (Condition(Field.TTFT, Operator.AT_LEAST, (0,)),)),
        ("tokens>=1000", (Condition(Field.TOKENS, Operator.AT_LEAST, (1_000,)),)),
        ("input:1.5k", (Condition(Field.INPUT, Operator.IS, (1_500,)),)),
        (
            "tokens:100..200",
            (
                Condition(Field.TOKENS, Operator.AT_LEAST, (100,)),
                Condition(Field.TOKENS, Operator.AT_MOST, (200,)),
            ),
        ),
        ("has:error", (Condition(Field.ERROR, Operator.IS),)),
        ("-has:error", (Condition(Field.ERROR, Operator.IS, negated=True),)),
        ("since:2h", (starts(Operator.AT_LEAST, NOW - 2 * HOUR),)),
        ("since:2026-11-01", (starts(Operator.AT_LEAST, microseconds(2026, 11, 1)),)),
        (
            "until:2026-11-01T10:30+02:00",
            (starts(Operator.LESS, microseconds(2026, 11, 1, 8, 30)),),
        ),
        ("until:2026-11-01T10:30Z", (starts(Operator.LESS, microseconds(2026, 11, 1, 10, 30)),)),
        ("since:today", (starts(Operator.AT_LEAST, TODAY),)),
        ("period:last_hour", (starts(Operator.AT_LEAST, NOW - HOUR),)),
        (
            "period:yesterday",
            (starts(Operator.AT_LEAST, TODAY - 24 * HOUR), starts(Operator.LESS, TODAY)),
        ),
        ('"not found"', (text_is("not found"),)),
        ('-"not found"', (text_is("not found", negated=True),)),
        ('not "found"', (text_is("found", negated=True),)),
        ("file not found", (text_is("file"), text_is("not"), text_is("found"))),
        ("work*", (Condition(Field.TEXT, Operator.BEGINS, ("work",)),)),
        ("foo_bar 50% C++ *", tuple(map(text_is, ("foo_bar", "50%", "C++", "*")))),
        (r'"say \"hi\" \\ \n"', (text_is('say "hi" \\ \\n'),)),
        ("😀 北京 שלום", tuple(map(text_is, ("😀", "北京", "שלום")))),
        ("- a", (text_is("-"), text_is("a"))),
    ],
)
def test_a_query_is_read_as_people_mean_it(text: str, expected: tuple[Condition, ...]) -> None:
    assert parsed(text) == expected


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("model:x stat:error", 9, "no field 'stat'. Perhaps you mean 'sta"),
        ("http://x.y", 1, "To search for it as text, put it in quotes"),
        ("ok status:eror", 11, "Perhaps you mean 'error'. It is one of unfinished, ok,"),
        ("kind:llm", 6, "It is one of run, model, tool"),
        ("cost>cheap", 6, "Write it like 0.01"),
        ("duration>2", 10, "Write it like 250ms, 2s or 5m"),
        ("tokens>1,2", 10, "only one value"),
        ("tokens:1..x", 8, "Write it like 1000"),
        ("since:soon", 7, "Write it like 2h, 7d, 2026-11-01"),
        ("since:99999999h", 7, "is not a time"),
        ("period:last_hours", 8, "last_hour, last_day"),
        ("has:model", 5, "Write `has:error`"),
        ("label: a", 7, "a value is missing"),
        ("label:a,", 9, "a value is missing"),
        ('a "b', 3, "never closed"),
        ("model>x", 1, "Write `model:x`"),
        ("metadata.seats>many", 16, "values of the metadata have no order"),
        ("metadata.seats>1,2", 18, "only one value"),
        ("text:a,b", 8, "Put it in quotes"),
        ("-tokens:1..2", 1, "cannot be negated"),
    ],
)
def test_an_error_points_at_its_column_and_says_what_would_be_right(
    text: str, column: int, says: str
) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        parsed(text)

    assert caught.value.column == column
    assert says in f"{caught.value} {caught.value.hint}"
    assert f"column {column}" in str(caught.value)


PIECES = (
    *("status", "status:", "error", "model:", "gpt*", "cost", ">", ">=", "..", "<", ":", '"', "\\"),
    *("-", " ", ",", "label:", "not ", "has:error", "since:", "2h", "2026-11-01", "period:", "="),
    *("today", "duration>", "2s", "1", ".5", "tokens", "*", "?", "é", "漢", "\n", "\0", "\ud800"),
    *("kind:tool", "start:", "text:", "µs", "$1", "٣", "²", "10000000000", "w", "d"),
)


@settings(max_examples=400)
@given(st.one_of(st.lists(st.sampled_from(PIECES), max_size=14).map("".join), st.text()))
def test_any_text_is_a_query_that_round_trips_or_a_helpful_error(text: str) -> None:
    query, error = _read(text)

    if query is not None:
        assert parse_query(format_query(query), now_us=NOW) == query
    if error is not None:
        assert 1 <= error.column <= len(text) + 1
        assert error.hint


def _read(text: str) -> tuple[Query | None, QuerySyntaxError | None]:
    try:
        return parse_query(text, now_us=NOW), None
    except QuerySyntaxError as error:
        return None, error


def conditions() -> st.SearchStrategy[Condition]:
    texts = st.text(max_size=8)
    several = st.lists(texts, min_size=1, max_size=3).map(tuple)
    parts = st.lists(st.one_of(texts.map(literal), st.sampled_from("*?")), max_size=4).map("".join)
    patterns = st.lists(parts.map("{}*".format), min_size=1, max_size=2).map(tuple)
    compared = st.sampled_from([Operator.MORE, Operator.AT_LEAST, Operator.LESS, Operator.AT_MOST])
    numbers = st.integers(0, 1 << 62)
    moments = st.integers(microseconds(1, 1, 1), microseconds(9999, 12, 31))
    globbed = (Field.OPERATION, Field.NAME, Field.LABEL, Field.MODEL, Field.PROVIDER)
    named = (*globbed, Field.TRACE, Field.SPAN, Field.PARENT, Field.RUN, Field.THREAD)
    closed = [(Field.KIND, kind.value) for kind in SpanKind]
    closed += [(Field.STATUS, status.value) for status in SpanStatus]

    def built(
        fields: st.SearchStrategy[Field],
        operators: st.SearchStrategy[Operator],
        values: st.SearchStrategy[tuple[str | int, ...]],
    ) -> st.SearchStrategy[Condition]:
        return st.builds(Condition, fields, operators, values, st.booleans())

    def only(operator: Operator) -> st.SearchStrategy[Operator]:
        return st.just(operator)

    amounts = st.sampled_from(sorted(NUMERIC - {Field.START}))
    return st.one_of(
        built(st.sampled_from(named), only(Operator.IS), several),
        built(st.sampled_from(globbed), only(Operator.LIKE), patterns),
        built(st.sampled_from((Field.USER, Field.RELEASE)), only(Operator.IS), several),
        st.builds(
            lambda key, values: metadata(key, *map(str, values)),
            st.text(min_size=1).filter(str.isprintable),
            several,
        ),
        built(st.just(Field.TEXT), only(Operator.CONTAINS), st.tuples(texts)),
        built(st.just(Field.TEXT), only(Operator.BEGINS), st.tuples(st.text(min_size=1))),
        built(st.just(Field.ERROR), only(Operator.IS), st.just(())),
        built(amounts, compared, st.tuples(numbers)),
        built(amounts, only(Operator.IS), st.lists(numbers, min_size=1, max_size=3).map(tuple)),
        built(st.just(Field.START), compared, st.tuples(moments)),
        st.builds(
            lambda pair, negated: any_of(pair[0], [pair[1]], negated=negated),
            st.sampled_from(closed),
            st.booleans(),
        ),
    )


@settings(max_examples=300)
@given(st.lists(conditions(), max_size=4))
def test_a_written_query_is_read_as_the_same(several: list[Condition]) -> None:
    query = Query(tuple(several))

    assert parse_query(format_query(query), now_us=0) == query


def test_a_written_query_is_one_line_that_people_can_read() -> None:
    text = 'status:error model:gpt* cost>0.01 label:search "not found"'

    assert format_query(parse_query(text, now_us=NOW)) == text
    assert format_query(Query(parsed("since:2h"))) == "start>=2030-03-17T15:46:40Z"
