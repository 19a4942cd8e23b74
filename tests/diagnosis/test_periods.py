"""The period of a query, and the one before."""

from treadle.diagnosis.periods import Period, period_of, within
from treadle.traces.query import Query, parse_query


def test_preceding_period_has_the_same_length() -> None:
    asked = "since:1970-01-02T00:00:00Z until:1970-01-02T06:00:00Z model:large"
    query = parse_query(asked, now_us=0)
    period = period_of(query, now_us=0)
    assert period is not None
    hour = 3_600_000_000
    assert (period.since_us, period.until_us) == (24 * hour, 30 * hour)
    assert period.before == Period(18 * hour, 24 * hour)
    assert period_of(within(query, period.before), now_us=0) == period.before


def test_query_without_a_beginning_has_no_period() -> None:
    assert period_of(Query(), now_us=5) is None
    assert period_of(parse_query("since:1970-01-02T00:00:00Z", now_us=0), now_us=5) is None
