from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.engines import NewAddress
from tests.traces.store.queries import naive
from tests.traces.store.queries.filled_store import filled
from tests.traces.store.queries.naive_runs import NaiveRun, naive_runs
from tests.traces.store.queries.random_spans import random_query
from tests.traces.store.queries.small_segments import segment_constantly
from treadle.errors import UsageError
from treadle.spans.span import TOOL_NAME_PREFIX, SpanKind, SpanStatus
from treadle.traces.query import GroupBy, Grouping, GroupSort, MetadataKey, Sort, SortKey
from treadle.traces.store.percentiles import Percentiles
from treadle.traces.store.queries import span_pages, span_sources
from treadle.traces.store.queries.summaries import TOP
from treadle.traces.store.results import DurationsOf, Group, Sums
from treadle.traces.store.summary import Summary

BUCKETS = (3600, 7200, 86_400, 5400, 60, 7)


@settings(max_examples=8)
@given(st.integers(0, 1 << 32))
def test_groups_labels_and_summaries_are_the_sums_of_what_fits(
    new_address: NewAddress, seed: int
) -> None:
    check_sums(Random(seed), new_address)


@settings(max_examples=6)
@given(st.integers(0, 1 << 32))
@example(17530759)  # threads that are only partly in the period, sorted by an expression
def test_sums_are_the_same_by_the_short_form_of_the_spans(
    new_address: NewAddress, seed: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(span_sources, "_WHOLE_ROWS", 1 << 40)
        patch.setattr(span_pages, "_LOOKED_AT", 4)
        check_sums(Random(seed), new_address)


@settings(max_examples=12)
@given(st.integers(0, 1 << 32))
def test_sums_are_the_same_from_segments(new_address: NewAddress, seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        segment_constantly(patch)
        check_sums(Random(seed), new_address)


GROUPINGS: tuple[Grouping, ...] = (*GroupBy, MetadataKey("tenant"), MetadataKey("none"))


def check_sums(random: Random, new_address: NewAddress) -> None:
    with filled(random, new_address) as there:
        for _ in range(10):
            query = random_query(random, there.spans)
            by, bucket = random.choice(GROUPINGS), random.choice(BUCKETS)
            fitting = there.fitting(query)

            sort, ascending = random.choice((None, *GroupSort)), random.random() < 0.5
            durations_of = random.choice((None, *DurationsOf))
            page = there.store.groups(
                by,
                query,
                sort=sort,
                ascending=ascending,
                bucket_seconds=bucket,
                figures=True,
                durations_of=durations_of,
                limit=1000,
            )
            labels = there.store.labels(query)
            summary = there.store.summary(query)

            groups = {group.value: plain(group.sums) for group in page.data}
            assert groups == naive.groups(fitting, by, bucket)
            assert page.pagination.total == len(groups)
            members = naive.members_of(fitting, by, bucket)
            runs = {run.run_id: run for run in naive_runs(there.spans)}
            for group in page.data:
                check_figures(group, by, members[group.value], runs, durations_of)
            check_order(page.data, sort, ascending=ascending)
            if sort is None:
                assert "" not in [group.value for group in page.data[:-1]]
            named = {label.name: label.count for label in labels.data}
            expected = naive.groups(fitting, GroupBy.LABEL)
            assert named == {label: sums.spans for label, sums in expected.items()}
            assert plain(summary.sums) == naive.sums(fitting)
            assert dict(summary.by_operation) == {
                value: sums.spans
                for value, sums in naive.groups(fitting, GroupBy.OPERATION).items()
            }
            check_summary(summary, fitting, there.keys)


def check_figures(
    group: Group,
    by: Grouping,
    members: list[naive.NaiveSpan],
    every: dict[str, NaiveRun],
    durations_of: DurationsOf | None,
) -> None:
    """Compare the figures of a group with those of the spans in it."""
    runs = [every[run_id] for run_id in {found.run for found in members}]
    nano = sum(found.nano or 0 for found in members if found.counted)
    assert (group.runs, group.failed_runs) == (
        len(runs),
        sum(run.status is SpanStatus.ERROR for run in runs),
    )
    if group.cost_per_run is not None:
        assert group.cost_per_run == pytest.approx(nano / naive.NANO / len(runs))
    durations = {
        DurationsOf.RUNS: [run.duration_us for run in runs],
        DurationsOf.CALLS: [found.span.duration_us for found in members if found.counted],
        DurationsOf.SPANS: [found.span.duration_us for found in members],
    }
    expected = {GroupBy.MODEL: DurationsOf.CALLS, GroupBy.OPERATION: DurationsOf.SPANS}
    usual = expected.get(by, DurationsOf.RUNS) if isinstance(by, GroupBy) else DurationsOf.RUNS
    of = durations_of or usual
    assert group.duration_of is of
    assert group.duration is not None
    assert figures(group.duration) == ranks(durations[of])


def check_order(groups: Sequence[Group], sort: GroupSort | None, *, ascending: bool) -> None:
    read: dict[GroupSort, Callable[[Group], float | None]] = {
        GroupSort.SPANS: lambda group: group.sums.totals.spans,
        GroupSort.ERRORS: lambda group: group.sums.faults,
        GroupSort.RUNS: lambda group: group.runs,
        GroupSort.FAILED_RUNS: lambda group: group.failed_runs,
        GroupSort.COST: lambda group: group.sums.totals.cost,
        GroupSort.COST_PER_RUN: lambda group: group.cost_per_run,
        GroupSort.P95: lambda group: group.duration.p95_us if group.duration else None,
    }
    if sort not in read:
        return
    values = [read[sort](group) for group in groups]
    known = [value for value in values if value is not None]
    assert values == [*sorted(known, reverse=not ascending), *[None] * values.count(None)]


def check_summary(
    summary: Summary, fitting: list[naive.NaiveSpan], keys: dict[tuple[str, str], int]
) -> None:
    spans = [found.span for found in fitting]
    calls = [found.span for found in fitting if found.counted]
    lasts = [max(each.start_us, each.end_us or each.start_us) for each in spans]
    assert summary.start_us == min((each.start_us for each in spans), default=None)
    assert summary.last_us == max(lasts, default=None)
    assert dict(summary.by_status) == Counter(each.status.value for each in spans)
    assert figures(summary.latency) == ranks([each.duration_us for each in spans])
    assert figures(summary.time_to_first_token) == ranks(
        [each.time_to_first_token_us for each in spans]
    )
    assert {
        model.name: (plain(model.sums), figures(model.latency)) for model in summary.models
    } == {
        name: (sums, ranks([each.duration_us for each in calls if each.model == name]))
        for name, sums in naive.groups(fitting, GroupBy.MODEL).items()
        if name and sums.model_calls
    }
    tools = [each for each in spans if each.kind is SpanKind.TOOL]
    assert {
        tool.name: (tool.calls, tool.failed, figures(tool.latency)) for tool in summary.tools
    } == {
        name.removeprefix(TOOL_NAME_PREFIX): (
            len(calls),
            sum(each.status is SpanStatus.ERROR for each in calls),
            ranks([each.duration_us for each in calls]),
        )
        for name in {each.name for each in tools}
        if (calls := [each for each in tools if each.name == name])
    }
    assert {label.name: label.count for label in summary.labels} == Counter(
        label for found in fitting for label in found.labels
    )
    for shown, key in ((summary.slowest, SortKey.DURATION), (summary.most_expensive, SortKey.COST)):
        wanted = [found for found in fitting if key is SortKey.DURATION or (found.nano or 0) > 0]
        expected = naive.in_order(wanted, Sort(key), keys)[:TOP]
        assert [(each.trace_id, each.span_id) for each in shown] == expected


def figures(of: Percentiles) -> list[int | None]:
    return [of.p50_us, of.p95_us, of.p99_us, of.max_us]


def plain(sums: Sums) -> naive.NaiveSums:
    totals = sums.totals
    return naive.NaiveSums(
        spans=totals.spans,
        model_calls=totals.model_calls,
        tool_calls=totals.tool_calls,
        failed=totals.failed,
        errors=sums.errors,
        faults=sums.faults,
        unfinished=sums.unfinished,
        input=totals.tokens.input or 0,
        output=totals.tokens.output or 0,
        nano=round((totals.cost or 0) * naive.NANO),
        unmetered=totals.unmetered,
        unpriced=totals.unpriced,
        busy_us=sums.busy_us,
    )


def ranks(durations: Iterable[int | None]) -> list[int | None]:
    """By the nearest rank: the smallest value that so many percent are not above."""
    ordered = sorted(each for each in durations if each is not None)
    if not ordered:
        return [None] * 4
    return [
        next(value for at, value in enumerate(ordered, 1) if at * 100 >= percent * len(ordered))
        for percent in (50, 95, 99, 100)
    ]


@pytest.mark.parametrize("seconds", [0, -1, 367 * 86_400])
def test_a_bucket_of_no_length_or_of_years_is_refused(
    seconds: int, new_address: NewAddress
) -> None:
    with filled(Random(1), new_address) as there, pytest.raises(UsageError):
        there.store.groups(GroupBy.TIME, bucket_seconds=seconds)
