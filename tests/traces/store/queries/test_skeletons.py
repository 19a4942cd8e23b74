import gzip
import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.engines import NewAddress
from tests.spans.runs import span
from treadle.errors import NotFoundError
from treadle.events.types import Usage
from treadle.json_values import to_json
from treadle.spans.span import Span, SpanKind
from treadle.traces import TraceStore
from treadle.traces.store.queries.skeletons import Flag
from treadle.traces.store.skeleton import Skeleton


@pytest.fixture
def store(new_address: NewAddress) -> Iterator[TraceStore]:
    opened = TraceStore.open(new_address())
    yield opened
    opened.close()


def skeleton(store: TraceStore, *spans: Span) -> Skeleton:
    store.write(spans).result()
    return store.skeleton(spans[0].trace_id)


def flags(found: Skeleton) -> dict[str, Flag]:
    columns = found.columns
    return dict(zip(columns.span_ids, map(Flag, columns.flags), strict=True))


def parents(found: Skeleton) -> dict[str, str | None]:
    columns = found.columns
    return {
        span_id: columns.span_ids[parent] if parent >= 0 else None
        for span_id, parent in zip(columns.span_ids, columns.parents, strict=True)
    }


def test_parents_come_before_children_and_those_by_their_start(store: TraceStore) -> None:
    found = skeleton(
        store,
        span("late", "root", start_us=1_500),
        span("early", "root", start_us=1_200),
        replace(
            span("below", "early", start_us=1_300, end_us=1_400),
            tokens=Usage(5, 7),
            cost=0.25,
            time_to_first_token_us=20,
        ),
        span("root", kind=SpanKind.RUN),
    )

    columns = found.columns
    assert columns.span_ids == ["root", "early", "below", "late"]
    assert columns.parents == [-1, 0, 1, 0]
    assert columns.depths == [0, 1, 2, 1]
    assert columns.starts == [0, 200, 300, 500]
    assert columns.durations == [1_000, 800, 100, 500]
    assert columns.first_tokens == [None, None, 20, None]
    assert [found.texts[name] for name in columns.names] == [
        *("work root", "work early", "work below", "work late")
    ]
    assert [found.texts[kind] for kind in columns.kinds] == ["run", "other", "other", "other"]
    assert columns.models == [-1] * 4
    assert (columns.input_tokens[2], columns.output_tokens[2]) == (5, 7)
    assert columns.costs == [None, None, 250_000_000, None]
    assert columns.flags == [0] * 4
    assert found.root == 0
    assert (found.trace_id, found.start_us, found.last_us) == ("trace", 1_000, 2_000)


def test_a_cycle_is_cut_open_and_shown_as_root(store: TraceStore) -> None:
    found = skeleton(
        store, span("own", "own"), span("one", "two", start_us=900), span("two", "one")
    )

    assert parents(found) == {"own": None, "one": None, "two": "one"}
    assert flags(found)["own"] == Flag.CYCLE
    assert flags(found)["one"] == Flag.CYCLE
    assert Flag.CYCLE not in flags(found)["two"]
    assert found.root == found.columns.span_ids.index("own")


def test_a_missing_parent_is_a_node_until_it_arrives(store: TraceStore) -> None:
    found = skeleton(store, span("one", "gone"), span("two", "gone", start_us=1_100))

    assert parents(found) == {"gone": None, "one": "gone", "two": "gone"}
    assert flags(found) == {"gone": Flag.MISSING, "one": Flag(0), "two": Flag(0)}
    assert found.columns.starts[0] is None
    assert found.columns.names[0] == -1
    assert found.root == found.columns.span_ids.index("one")

    arrived = skeleton(store, span("gone"))

    assert flags(arrived)["gone"] == Flag(0)
    assert arrived.root == 0
    assert arrived.revision > found.revision


def test_clocks_that_went_back_and_ends_that_never_came_are_marked(store: TraceStore) -> None:
    found = skeleton(
        store,
        span("root"),
        span("back", "root", start_us=1_500, end_us=1_400),
        span("zero", "root", start_us=1_600, end_us=0),
        span("open", "root", start_us=1_700, end_us=None),
    )

    assert flags(found) == {
        "root": Flag(0),
        "back": Flag.CLOCK_SKEW,
        "zero": Flag.CLOCK_SKEW,
        "open": Flag.UNFINISHED,
    }
    assert found.columns.durations == [1_000, None, None, None]


def test_a_child_outside_of_its_parent_is_marked_and_its_times_are_kept(
    store: TraceStore,
) -> None:
    found = skeleton(
        store,
        span("root"),
        span("before", "root", start_us=500, end_us=1_500),
        span("within", "root", start_us=1_000, end_us=2_000),
        span("beyond", "root", start_us=1_900, end_us=2_100),
    )

    assert [name for name, each in flags(found).items() if Flag.OUTSIDE_PARENT in each] == [
        *("before", "beyond")
    ]
    assert found.columns.starts == [500, 0, 500, 1_400]


def test_true_root_is_not_a_later_child_without_a_parent(store: TraceStore) -> None:
    found = skeleton(
        store,
        span("root", start_us=1_000),
        span("pretender", start_us=1_500, kind=SpanKind.AGENT),
        span("child", "root", kind=SpanKind.RUN),
    )

    assert found.root is not None
    assert found.columns.span_ids[found.root] == "root"


def test_a_model_call_around_another_is_marked_as_uncounted(store: TraceStore) -> None:
    found = skeleton(
        store,
        span("client", kind=SpanKind.MODEL),
        span("gateway", "client", kind=SpanKind.MODEL),
    )

    assert flags(found) == {"client": Flag.UNCOUNTED, "gateway": Flag(0)}


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 8), st.none() | st.integers(0, 10)), min_size=1))
def test_every_span_is_there_once_whatever_its_parents_say(
    store: TraceStore, links: Sequence[tuple[int, int | None]]
) -> None:
    trace_id = f"trace {store.changes(None).newest}"
    spans = [
        span(f"s{own}", None if parent is None else f"s{parent}", trace_id=trace_id, start_us=at)
        for at, (own, parent) in enumerate(links)
    ]
    found = skeleton(store, *spans)

    columns = found.columns
    there = [
        span_id
        for span_id, flag in zip(columns.span_ids, columns.flags, strict=True)
        if not flag & Flag.MISSING
    ]
    assert sorted(there) == sorted({each.span_id for each in spans})
    assert all(parent < place for place, parent in enumerate(columns.parents))


def test_skeleton_has_the_labels_user_release_and_metadata_of_the_root(
    store: TraceStore,
) -> None:
    root = replace(
        span("root", kind=SpanKind.RUN),
        labels=("shop",),
        user="ann",
        release="1.4",
        metadata={"tenant": "acme"},
    )

    found = skeleton(store, replace(span("below", "root"), user="bob"), root)

    assert (found.labels, found.user, found.release) == (("shop",), "ann", "1.4")
    assert found.metadata == {"tenant": "acme"}
    other = skeleton(store, replace(span("alone"), trace_id="other"))
    assert (other.labels, other.user, other.release, other.metadata) == ((), None, None, {})


def test_unknown_trace_raises_not_found(store: TraceStore) -> None:
    with pytest.raises(NotFoundError, match="no trace 'nowhere'"):
        store.skeleton("nowhere")


@pytest.mark.parametrize(
    ("count", "most"), [(10_000, 500_000), pytest.param(45_000, 2_000_000, marks=pytest.mark.slow)]
)
def test_a_large_trace_is_small_on_the_wire(tmp_path: Path, count: int, most: int) -> None:
    """The bounds are those of the case R23."""
    root = span("0" * 16, kind=SpanKind.RUN, end_us=10**9)
    calls = [
        replace(
            span(
                f"{number * 0x9E3779B97F4A7C15 % 2**64:016x}",
                f"{number // 8 * 0x9E3779B97F4A7C15 % 2**64:016x}",
                start_us=1_000 + number * 137,
                end_us=1_000 + number * 137 + number * number % 99_991,
                kind=SpanKind.MODEL if number % 2 else SpanKind.TOOL,
            ),
            name=f"execute_tool {number % 30}",
            model="vendor/model" if number % 2 else None,
            tokens=Usage(number * 7 % 5_000, number * 3 % 700),
            cost=number % 977 / 1e6,
        )
        for number in range(1, count)
    ]
    with closing(TraceStore.open(tmp_path / "traces.db")) as store:
        for start in range(0, count, 5_000):
            store.write([root, *calls][start : start + 5_000]).result()
        found = store.skeleton("trace")

    answer = json.dumps(to_json(found), separators=(",", ":"))

    assert len(found.columns.span_ids) == count
    assert len(gzip.compress(answer.encode(), 6)) < most
