"""What every engine of the span store must do. A test class of an engine derives from `Contract`.

It gives the fixture `engine`: a function that opens the store of the test, again each time.
"""

import base64
import json
import random
from collections.abc import Callable
from concurrent.futures import wait
from dataclasses import replace
from threading import Event, Thread

import pytest

from tests.spans.runs import span
from treadle.errors import NotFoundError, StoreError, UsageError
from treadle.events.types import Usage
from treadle.spans.span import (
    CostSource,
    JsonValue,
    Span,
    SpanEvent,
    SpanKind,
    SpanLink,
    SpanStatus,
)
from treadle.spans.span_writer import StoreBusyError
from treadle.traces import TraceStore
from treadle.traces.query import GroupBy, GroupSort
from treadle.traces.store.results import Deleted

Engine = Callable[[], TraceStore]

PICTURE = base64.b64encode(random.Random(7).randbytes(3_001)).decode()


def full_span(**changes: object) -> Span:
    """A span of which every field holds something."""
    whole = Span(
        trace_id="t",
        span_id="s",
        parent_id="p",
        kind=SpanKind.MODEL,
        operation="chat",
        name="chat small",
        start_us=10,
        end_us=30,
        status=SpanStatus.ERROR,
        error="it broke",
        model="small",
        provider="local",
        tokens=Usage(input=5, output=0, cached=None, reasoning=1, cache_write=2),
        input_counts_cache=False,
        cost=0.25,
        cost_source=CostSource.PRICES,
        time_to_first_token_us=7,
        labels=("a", "b"),
        thread_id="thread 1",
        run_id="run/1",
        start_ns=10_123,
        end_ns=30_456,
        attributes={"a": [1, 2.5, None, True, {"b": "ü"}], "bytes": {"base64": "AAH/"}},
        resource={"service.name": "demo", "otel.scope.name": "lib"},
        events=(SpanEvent(11, "retry", {"attempt": 2}),),
        links=(SpanLink("other", "span", {"why": "because"}),),
        input="in",
        output="out",
    )
    return replace(whole, **changes)  # type: ignore[arg-type]  # names of fields


ODD_TEXTS = [
    "nul \0 inside",
    "lone \ud800 surrogate",
    "\udc00\ud800 two of them the wrong way round",
    "two lone ones that would be a pair \ud83d" + "\ude00",
    "👩‍💻 שלום",
    "",
    "line\nbreaks\r\n\u2028",
    "\\u00e9 as an escape",
    '{"role"' * 3_000,
    "x" * 40_000,
    f"a picture data:image/png;base64,{PICTURE} in a text",
    json.dumps([{"role": "user", "content": f"{number} " + "word " * 900} for number in range(9)]),
    json.dumps({"image": PICTURE, "again": PICTURE, "broken": PICTURE[:-2]}),
]


class Contract:
    """The promises of `treadle.traces.TraceStore`."""

    @pytest.fixture
    def store(self, engine: Engine) -> TraceStore:
        return engine()

    def test_a_span_comes_back_as_it_was_written(self, store: TraceStore) -> None:
        store.write([full_span()]).result()

        assert store.span("t", "s") == full_span()
        assert store.trace("t").spans == (full_span(),)
        assert store.span("t", "other") is None
        assert store.span("other", "s") is None

    @pytest.mark.parametrize("text", ODD_TEXTS, ids=range(len(ODD_TEXTS)))
    def test_any_text_comes_back_byte_for_byte(self, store: TraceStore, text: str) -> None:
        odd = full_span(
            name=text[:900],
            span_id=text[:200],
            model=text[:200],
            error=text,
            labels=(text[:200],),
            input=text,
            output=text + "!",
            attributes={"same": text, "nested": [{"deep": text}], text[:100]: 1},
            events=(SpanEvent(11, "message", {"content": text}),),
        )
        store.write([odd]).result()

        assert store.span("t", text[:200]) == odd

    def test_pages_of_groups_with_odd_names_are_complete(self, store: TraceStore) -> None:
        """Names with NUL or a lone surrogate have another position on each engine."""
        plain = ["", "Z", "a", "ab", "b", "ä", "\ue000", "😀", "\U0010f000", "\U0010fffd"]
        names = [*plain, "a\0b", "a\ud800", "a\ud800b"]
        store.write(
            [full_span(span_id=name, labels=(name,), model=name) for name in reversed(names)]
        ).result()

        def listed(by: GroupBy, limit: int, offset: int = 0) -> list[object]:
            page = store.groups(
                by, sort=GroupSort.GROUP, ascending=True, limit=limit, offset=offset
            )
            return [group.value for group in page.data]

        for by in (GroupBy.MODEL, GroupBy.LABEL):
            whole = listed(by, 100)
            assert [name for at in range(len(names)) for name in listed(by, 1, at)] == whole
            assert [name for name in whole if name in plain] == plain
            assert set(whole) == set(names)

    def test_twenty_megabytes_in_one_attribute_come_back(self, store: TraceStore) -> None:
        large = full_span(attributes={"large": "0123456789" * 2_000_000})
        store.write([large]).result()

        assert store.span("t", "s") == large

    def test_what_was_written_is_there_when_it_is_opened_again(self, engine: Engine) -> None:
        first = engine()
        future = first.write([full_span()])
        first.close()
        first.close()

        assert future.exception() is None
        assert isinstance(first.write([full_span()]).exception(), StoreError)
        assert engine().span("t", "s") == full_span()

    @pytest.mark.parametrize("order", ["pf", "fp", "pfpf", "fppf"])
    def test_the_more_complete_version_wins_as_a_whole(self, store: TraceStore, order: str) -> None:
        partial = full_span(end_us=None, labels=("only here",), output=None)
        final = full_span(labels=(), attributes={})
        for letter in order:
            store.write([partial if letter == "p" else final]).result()

        assert store.trace("t").spans == (final,)
        assert store.labels().data == ()

    def test_usage_of_repeated_versions_counts_once(self, store: TraceStore) -> None:
        model = replace(span("m", kind=SpanKind.MODEL), tokens=Usage(input=7, output=3), cost=0.5)
        store.write([model, model]).result()
        store.write([model]).result()

        totals = store.runs().data[0].sums.totals
        assert (totals.model_calls, totals.tokens.input, totals.tokens.output) == (1, 7, 3)
        assert totals.cost == 0.5

    def test_a_version_that_starts_at_another_time_takes_the_place_of_the_first(
        self, store: TraceStore
    ) -> None:
        early = span("s", start_us=1_000, end_us=None)
        late = span("s", start_us=9_000, end_us=9_500)
        store.write([early, span("other", start_us=5_000, end_us=6_000)]).result()
        store.write([late]).result()

        assert [one.span_id for one in store.trace("trace").spans] == ["other", "s"]
        assert store.runs().data[0].start_us == 5_000

    def test_times_of_any_size_can_be_kept(self, store: TraceStore) -> None:
        starts = [0, -1, -(2**62), 2**62, 253_402_300_799_999_999, 1_000]
        odd = [span(f"s{place}", start_us=start, end_us=0) for place, start in enumerate(starts)]
        store.write(odd).result()

        assert sorted(one.start_us for one in store.trace("trace").spans) == sorted(starts)

    def test_spans_that_all_start_at_once_are_all_kept(self, store: TraceStore) -> None:
        for batch in range(5):
            store.write(
                [span(f"s{batch}/{number}", start_us=0) for number in range(1_000)]
            ).result()

        assert len(store.trace("trace").spans) == 5_000

    def test_runs_and_threads_follow_from_what_spans_name(self, store: TraceStore) -> None:
        store.write([span("child", "root", trace_id="t1"), span("s", trace_id="t2")]).result()
        assert {run.run_id for run in store.runs().data} == {"t1", "t2"}

        root = replace(span("root", trace_id="t1"), run_id="run", thread_id="thread")
        store.write([root, replace(span("x", trace_id="t2"), run_id="run")]).result()

        (run,) = store.runs().data
        (thread,) = store.threads().data
        assert (run.run_id, run.thread_id, run.sums.totals.spans) == ("run", "thread", 4)
        assert (thread.thread_id, thread.runs) == ("thread", 1)

    @pytest.mark.parametrize("text", ODD_TEXTS[:5], ids=range(5))
    def test_any_text_names_a_run_and_a_thread(self, store: TraceStore, text: str) -> None:
        named = replace(span("x", trace_id="t1", start_us=3), run_id=text, thread_id=text)
        other = replace(span("x", trace_id="t2", start_us=5), run_id="run", thread_id="thread")
        store.write([named, other]).result()
        store.write([replace(named, trace_id="t3")]).result()

        run = next(run for run in store.runs().data if run.run_id == text)
        thread = next(thread for thread in store.threads().data if thread.thread_id == text)
        assert (run.thread_id, run.start_us, run.sums.totals.spans) == (text, 3, 2)
        assert (thread.runs, thread.start_us, thread.sums.totals.spans) == (1, 3, 2)
        assert store.delete(threads=[text]).spans == 2
        assert [thread.thread_id for thread in store.threads().data] == ["thread"]

    def test_the_thread_that_the_root_names_is_the_thread_of_the_trace(
        self, store: TraceStore
    ) -> None:
        child = replace(span("child", "root", start_us=5), thread_id="automatic")
        root = replace(span("root", start_us=3), thread_id="thread")
        earlier = span("earlier", start_us=1)
        found = []
        for batch in ([child], [root], [earlier]):
            store.write(batch).result()
            found += [run.thread_id for run in store.runs().data]
        assert found == ["automatic", "thread", "automatic"]

    def test_a_trace_is_found_by_id_prefix_dashed_uuid_and_last(self, store: TraceStore) -> None:
        older, newer = "0193aaaaaaaa70008000000000000001", "0193bbbbbbbb70008000000000000002"
        with pytest.raises(NotFoundError, match="No trace has been recorded yet"):
            store.trace("LAST")
        store.write([span("s", trace_id=newer, start_us=2)]).result()
        store.write([span("s", trace_id=older, start_us=1)]).result()

        assert store.trace("0193a").trace_id == older
        assert store.trace("0193bbbb-bbbb-7000-8000-000000000002").trace_id == newer
        assert store.trace("LAST").trace_id == newer
        with pytest.raises(UsageError, match="Several traces begin with '0193'"):
            store.trace("0193")
        for unknown in ("zz", "", "%", "0193_"):
            with pytest.raises(NotFoundError, match="There is no trace"):
                store.trace(unknown)

    def test_changes_list_each_span_once_in_the_order_of_writing(self, store: TraceStore) -> None:
        begun = store.changes(None)
        assert begun.spans == ()
        store.write([span("a", end_us=None), span("b")]).result()
        store.write([span("a")]).result()

        found = store.changes(begun.newest)

        assert [(one.span_id, one.ended) for one in found.spans] == [("b", True), ("a", True)]
        assert not found.more
        assert store.changes(found.newest).spans == ()

    def test_changes_come_in_parts(self, store: TraceStore) -> None:
        store.write([span(f"s{number}") for number in range(5)]).result()

        first = store.changes(0, limit=3)
        second = store.changes(first.newest, limit=3)

        assert (len(first.spans), first.more) == (3, True)
        assert (len(second.spans), second.more) == (2, False)
        assert second.newest == store.changes(None).newest

    def test_less_complete_version_changes_nothing(self, store: TraceStore) -> None:
        store.write([span("a")]).result()
        newest = store.changes(None).newest
        store.write([span("a", end_us=None)]).result()
        store.write([span("a")]).result()

        assert store.changes(None).newest == newest

    def test_revisions_are_never_given_twice(self, store: TraceStore) -> None:
        store.write([span("a")]).result()
        newest = store.changes(None).newest
        store.delete(traces=["trace"])
        store.write([span("b")]).result()

        assert [one.span_id for one in store.changes(newest).spans] == ["b"]

    def test_listeners_hear_the_newest_revision(self, store: TraceStore) -> None:
        heard: list[int] = []
        store.on_commit(heard.append)
        store.write([span("a")]).result()
        store.write([]).result()
        store.close()

        assert heard[0] == 1

    def test_what_was_redacted_is_counted(self, store: TraceStore) -> None:
        store.write([span("a")], redacted={"github": 2, "aws": 1}).result()
        store.write([span("b")], redacted={"github": 1}).result()

        assert store.redactions() == {"aws": 1, "github": 3}

    def test_too_much_at_once_is_refused_and_nothing_of_it_kept(self, store: TraceStore) -> None:
        many = [span(f"s{number}", start_us=number) for number in range(10_001)]
        others = [replace(one, trace_id="other") for one in many]
        held = Event()

        def hold(_revision: int) -> None:
            held.wait(60)

        store.on_commit(hold)
        store.write([span("first")]).result()  # nothing more is written until `held` is set
        accepted = store.write(many)
        refused = store.write(others)
        held.set()

        assert isinstance(refused.exception(), StoreBusyError)
        accepted.result()
        assert [run.trace_id for run in store.runs().data] == ["trace"]

    def test_invalid_span_does_not_affect_others(self, store: TraceStore) -> None:
        futures = [
            store.write([span("good 1")]),
            store.write([span("ill", start_us=2**70)]),
            store.write([span("good 2")]),
        ]
        wait(futures)

        failures = [type(future.exception()) for future in futures]
        assert failures == [type(None), StoreError, type(None)]
        assert {one.span_id for one in store.trace("trace").spans} == {"good 1", "good 2"}

    def test_attributes_nested_without_end_fail_alone(self, store: TraceStore) -> None:
        for depth in (20, 400, 990, 100_000):
            deep: list[JsonValue] = []
            for _ in range(depth):
                deep = [deep]
            done = store.write([full_span(span_id=str(depth), attributes={"deep": deep})])
            kept = done.exception() is None
            assert kept == (depth < 500) or depth == 990
            assert (store.span("t", str(depth)) is not None) == kept

    def test_many_threads_may_write_and_read_at_once(self, store: TraceStore) -> None:
        failures: list[Exception] = []

        def work(name: str) -> None:
            try:
                for number in range(30):
                    store.write([span(f"{name}{number}")]).result()
                    store.trace("trace")
            except Exception as error:  # noqa: BLE001  (the test reports it)
                failures.append(error)

        threads = [Thread(target=work, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert failures == []
        assert len(store.trace("trace").spans) == 120

    def test_deleting_takes_threads_runs_and_traces(self, store: TraceStore) -> None:
        for number in range(8):
            one = span("s", trace_id=f"t{number}")
            store.write(
                [replace(one, run_id=f"r{number // 2}", thread_id=f"th{number // 4}")]
            ).result()

        assert store.delete(threads=["th1"], runs=["r1"], traces=["t1", "unknown"]).spans == 7
        assert [one.trace_id for one in store.spans().data] == ["t0"]
        assert store.delete(threads=["th1"]) == Deleted(0, 0, 0)
