from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traces.reading import naive
from tests.traces.reading.filled import filled
from tests.traces.reading.making import random_query
from treadle.errors import UsageError
from treadle.traces.query import GroupBy
from treadle.traces.store.reading.listed import Sums

BUCKETS = (3600, 7200, 86_400, 5400, 60, 7)


@settings(max_examples=8)
@given(st.integers(0, 1 << 32))
def test_groups_labels_and_summaries_are_the_sums_of_what_fits(seed: int) -> None:
    random = Random(seed)
    with filled(random) as there:
        for _ in range(10):
            query = random_query(random, there.spans)
            by, bucket = random.choice(tuple(GroupBy)), random.choice(BUCKETS)
            fitting = there.fitting(query)

            page = there.store.groups(by, query, bucket_seconds=bucket, limit=1000)
            labels = there.store.labels(query)
            summary = there.store.summary(query)

            groups = {group.value: plain(group.sums) for group in page.data}
            assert groups == naive.groups(fitting, by, bucket)
            assert page.total == len(groups)
            named = {label.name: label.count for label in labels.data}
            expected = naive.groups(fitting, GroupBy.LABEL)
            assert named == {label: sums.spans for label, sums in expected.items()}
            assert plain(summary.sums) == naive.sums(fitting)
            assert dict(summary.by_operation) == {
                value: sums.spans
                for value, sums in naive.groups(fitting, GroupBy.OPERATION).items()
            }
            latency = summary.latency
            assert [latency.p50_us, latency.p95_us, latency.p99_us, latency.max_us] == ranks(
                [span.span.duration_us for span in fitting if span.span.duration_us is not None]
            )


def plain(sums: Sums) -> naive.NaiveSums:
    totals = sums.totals
    return naive.NaiveSums(
        spans=totals.spans,
        model_calls=totals.model_calls,
        tool_calls=totals.tool_calls,
        failed=totals.failed,
        errors=sums.errors,
        unfinished=sums.unfinished,
        input=totals.tokens.input or 0,
        output=totals.tokens.output or 0,
        nano=round((totals.cost or 0) * naive.NANO),
        unmetered=totals.unmetered,
        unpriced=totals.unpriced,
        busy_us=sums.busy_us,
    )


def ranks(durations: list[int]) -> list[int | None]:
    """By the nearest rank: the smallest value that so many percent are not above."""
    ordered = sorted(durations)
    if not ordered:
        return [None] * 4
    return [
        next(value for at, value in enumerate(ordered, 1) if at * 100 >= percent * len(ordered))
        for percent in (50, 95, 99, 100)
    ]


@pytest.mark.parametrize("seconds", [0, -1, 367 * 86_400])
def test_a_bucket_of_no_length_or_of_years_is_refused(seconds: int) -> None:
    with filled(Random(1)) as there, pytest.raises(UsageError):
        there.store.groups(GroupBy.TIME, bucket_seconds=seconds)
