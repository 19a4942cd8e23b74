"""Random spans and queries over a small vocabulary, so that what is asked for is often there."""

from random import Random

from tests.traces.store.queries.naive import NaiveSpan
from treadle.events.types import Usage
from treadle.spans.span import (
    ANALYST_LABEL,
    EXPERIMENT_LABEL,
    OWN_LABELS,
    Scalar,
    Span,
    SpanKind,
    SpanStatus,
)
from treadle.traces.own_spans import OF_OTHERS
from treadle.traces.query import Condition, Field, Operator, Query, Sort, SortKey
from treadle.traces.query.conditions import NUMERIC

HOUR = 3_600_000_000
BEGIN = 1_900_000_800_000_000  # a whole hour

_COMPARED = (Operator.MORE, Operator.AT_LEAST, Operator.LESS, Operator.AT_MOST)
_GLOBS = ("gpt*", "*", "c*", "C?AUDE", "?", r"a\*b", "[x]*", "*o*", "*:*", "ÜN*", "prod*", "none*")
_TEXTS = (
    "hello foo_bar world",
    "50% of C++ code",
    "ReadTimeoutError was raised",
    "北京欢迎你",
    "שלום עולם",
    "not found: 404",
    "naïve café",
    "a%b",
    "Work in progress",
    "line\nbreak not found",
    "😀 smile",
)
TERMS = (
    *("hello", "foo_bar", "50%", "C++", "%", "Timeout", "ReadTimeoutError", "北京", "欢迎", "שלום"),
    *(
        "not found",
        "cafe",
        "café",
        "naive",
        "😀",
        "Work",
        "wor",
        "foo",
        "found: 404",
        "_",
        '"',
        "*",
    ),
)
_NAMES: dict[Field, tuple[str, ...]] = {
    Field.TRACE: ("t0", "t1", "t5", "t9"),
    Field.SPAN: ("s0", "s1", "s2", "s99"),
    Field.PARENT: ("s0", "s1", "gone"),
    Field.RUN: ("r1", "t0", "t3", "no run"),
    Field.THREAD: ("th1", "th2", "t1", "r1"),
    Field.KIND: tuple(kind.value for kind in SpanKind),
    Field.OPERATION: ("chat", "work", "execute_tool", "none"),
    Field.NAME: ("chat gpt", "work_it", "a*b", "none"),
    Field.LABEL: ("a", "b", "A", "x y", "none", ANALYST_LABEL),
    Field.STATUS: tuple(status.value for status in SpanStatus),
    Field.MODEL: ("gpt-4o", "gpt-5", "Claude", "ünï", "none"),
    Field.PROVIDER: ("OpenAI", "local", "none"),
    Field.USER: ("alice", "bob", "ünï \ud800", "none"),
    Field.RELEASE: ("1.4", "2.0", "none"),
    Field.METADATA: ("acme", "x y", "5", "none"),
}
_METADATA: tuple[dict[str, Scalar], ...] = (
    {},
    {},
    {"tenant": "acme"},
    {"tenant": "x y", "seats": 5},
)
_KEYS = ("tenant", "seats", "none")
_LABELS = ("a", "b", "A", "x y", "prod:eu", *OWN_LABELS, f"{EXPERIMENT_LABEL}:v1")
_GLOBBED = (
    *(Field.OPERATION, Field.NAME, Field.LABEL, Field.MODEL, Field.PROVIDER),
    *(Field.USER, Field.RELEASE, Field.METADATA),
)


def random_span(random: Random, *, traces: int = 6, spans: int = 20) -> Span:
    """Any span: late, doubled, its own parent, without an end, or with one before its start."""
    start = BEGIN + random.choice(
        (random.randrange(5 * HOUR), random.randrange(4) * HOUR, random.randrange(2))
    )
    end = random.choice((None, start - 5, start + 1_000_000, start + random.randrange(5_000_000)))
    ended = random.choice(
        (SpanStatus.OK, SpanStatus.OK, SpanStatus.ERROR, SpanStatus.CANCELLED, SpanStatus.DENIED)
    )
    return Span(
        trace_id=f"t{random.randrange(traces)}",
        span_id=f"s{random.randrange(spans)}",
        parent_id=random.choice((None, None, f"s{random.randrange(spans)}", "gone")),
        kind=random.choice(tuple(SpanKind)),
        operation=random.choice(("chat", "execute_tool", "work")),
        name=random.choice(("chat gpt", "search", "work_it", "a*b", "[x]")),
        start_us=start,
        end_us=end,
        status=SpanStatus.UNFINISHED if end is None else ended,
        model=random.choice((None, "gpt-4o", "gpt-5", "Claude", "vendor/x:free", "ünï")),
        provider=random.choice((None, "OpenAI", "local")),
        tokens=Usage(
            random.choice((None, 0, 5, 1_000)),
            random.choice((None, 0, 7)),
            random.choice((None, 3)),
        ),
        cost=random.choice((None, 0.0, 0.25, 0.000000002, 3.0)),
        time_to_first_token_us=random.choice((None, 100, 5_000)),
        labels=tuple(sorted(random.sample(_LABELS, random.randrange(3)))),
        thread_id=random.choice((None, None, None, "th1", "th2")),
        run_id=random.choice((None, None, None, None, "r1", "r2")),
        user=random.choice((None, None, "alice", "bob", "ünï \ud800")),
        release=random.choice((None, None, "1.4", "2.0")),
        metadata=random.choice(_METADATA),
        input=random.choice((None, *_TEXTS)),
        output=random.choice((None, "done", *_TEXTS)),
    )


def random_query(random: Random, spans: list[NaiveSpan]) -> Query:
    """Up to three conditions, with amounts of these spans, often without Treadle's own calls."""
    query = Query(tuple(_condition(random, spans) for _ in range(random.randrange(4))))
    return query & OF_OTHERS if random.random() < 0.4 else query


def random_sort(random: Random) -> Sort:
    """Any order."""
    return Sort(random.choice(tuple(SortKey)), random.random() < 0.5)


def _condition(random: Random, spans: list[NaiveSpan]) -> Condition:
    field = random.choice([each for each in Field if each is not Field.OWN])
    negated = random.random() < 0.3
    key = random.choice(_KEYS) if field is Field.METADATA else ""
    if field is Field.ERROR:
        return Condition(field, Operator.IS, (), negated)
    if field is Field.TEXT:
        operator = random.choice((Operator.CONTAINS, Operator.CONTAINS, Operator.BEGINS))
        return Condition(field, operator, (random.choice(TERMS),), negated)
    if field in NUMERIC:
        amount = random.choice(spans).amount(field) or random.randrange(100)
        if random.random() < 0.2:
            return Condition(field, Operator.IS, (amount, 5), negated)
        return Condition(field, random.choice(_COMPARED), (amount,), negated)
    if field is Field.METADATA and random.random() < 0.3:
        bound = random.choice(("4.5", "5", "6"))
        return Condition(field, random.choice(_COMPARED), (bound,), negated, key)
    if field in _GLOBBED and random.random() < 0.4:
        patterns = tuple(random.sample(_GLOBS, random.randrange(1, 3)))
        return Condition(field, Operator.LIKE, patterns, negated, key)
    values = tuple(random.sample(_NAMES[field], random.randrange(1, 3)))
    return Condition(field, Operator.IS, values, negated, key)
