"""Both engines give the same answers for the same spans."""

from collections.abc import Callable
from contextlib import closing
from functools import partial
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.engines import PostgresServer
from tests.traces.store.queries import naive
from tests.traces.store.queries.random_spans import (
    TERMS,
    random_query,
    random_sort,
    random_span,
)
from tests.traces.store.queries.small_segments import segment_constantly
from treadle.database import PostgresAddress
from treadle.json_values import to_json
from treadle.traces import TraceStore
from treadle.traces.query import (
    AnyField,
    Condition,
    Field,
    GroupBy,
    GroupSort,
    MetadataKey,
    Operator,
    Query,
    Rows,
)
from treadle.traces.store.queries import facets

Answer = Callable[[TraceStore], object]


@pytest.fixture(scope="module")
def url(postgres: PostgresServer) -> str:
    return postgres.new_database()


@pytest.mark.parametrize("segments", [False, True])
@settings(max_examples=2, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 1 << 32))
def test_answers_are_the_same(
    url: str, segments: bool, tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    random, folder = Random(seed), tmp_path_factory.mktemp("stores")
    spans = [random_span(random) for _ in range(60)]
    address = PostgresAddress(url, f"p{seed}_{segments:d}", "traces", folder)
    with pytest.MonkeyPatch.context() as patch:
        if segments:
            segment_constantly(patch)
        with (
            closing(TraceStore.open(folder / "traces.db", read_seconds=60)) as lite,
            closing(TraceStore.open(address, read_seconds=60)) as postgres,
        ):
            for begin in range(0, len(spans), 20):
                lite.write(spans[begin : begin + 20]).result()
                postgres.write(spans[begin : begin + 20]).result()
            for answer in _answers(random, naive.kept(spans)):
                assert _written(answer(postgres)) == _written(answer(lite))


def _answers(random: Random, spans: list[naive.NaiveSpan]) -> list[Answer]:
    answers: list[Answer] = [
        lambda store: store.changes(0),
        lambda store: store.metadata_keys(limit=5),
        lambda store: store.tool_stats(),
    ]
    for trace_id in {each.span.trace_id for each in spans}:
        answers += [
            partial(TraceStore.skeleton, trace_id=trace_id),
            partial(TraceStore.trace, reference=trace_id),
        ]
    for _ in range(8):
        answers += _answers_to(random, random_query(random, spans))
    return answers


def _answers_to(random: Random, query: Query) -> list[Answer]:
    sort = random_sort(random)
    by = random.choice((*GroupBy, MetadataKey("tenant"), MetadataKey("none")))
    group_sort = random.choice((None, *GroupSort))
    bucket, figures = random.choice((60, 3_600, 86_400)), random.random() < 0.5
    fields: list[AnyField] = [*sorted(facets.COUNTED - {Field.METADATA}), MetadataKey("tenant")]
    field = random.choice(fields)
    text = random.choice(("", "a", "A", "ü"))
    operator = random.choice((Operator.CONTAINS, Operator.BEGINS))
    searched = query & Query((Condition(Field.TEXT, operator, (random.choice(TERMS),)),))
    return [
        lambda store: store.spans(query, sort=sort, limit=7),
        lambda store: store.spans(query, sort=sort, limit=100, offset=2),
        lambda store: store.runs(query, sort=sort, limit=7),
        lambda store: store.threads(query, sort=sort, limit=7),
        lambda store: store.search(searched, limit=7),
        lambda store: store.groups(
            by, query, sort=group_sort, bucket_seconds=bucket, figures=figures, limit=100
        ),
        lambda store: store.labels(query),
        lambda store: store.run_totals(query),
        lambda store: store.uncounted_use(query),
        lambda store: store.summary(query),
        *(partial(TraceStore.facets, rows=rows, query=query) for rows in Rows),
        lambda store: store.values(field, query, text=text),
    ]


def _written(answer: object) -> object:
    """Return an answer as JSON, without cursors, which contain keys of rows."""
    return _without_cursors(to_json(answer))


def _without_cursors(value: object) -> object:
    if isinstance(value, dict):
        return {
            name: each is not None if name == "next_cursor" else _without_cursors(each)
            for name, each in value.items()
        }
    return list(map(_without_cursors, value)) if isinstance(value, list | tuple) else value
