"""Reads and writes moments and periods. A time without an offset is in UTC."""

import re
from datetime import UTC, datetime, timedelta
from enum import StrEnum

_AGO = re.compile(r"([0-9]{1,6})(s|m|min|h|d|w)(?: ?ago)?")
_UNITS = {
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "min": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Period(StrEnum):
    """A period up to now, or a calendar day in UTC."""

    LAST_HOUR = "last_hour"
    LAST_DAY = "last_day"
    LAST_WEEK = "last_week"
    LAST_MONTH = "last_month"
    TODAY = "today"
    YESTERDAY = "yesterday"


_LENGTHS = {
    Period.LAST_HOUR: timedelta(hours=1),
    Period.LAST_DAY: timedelta(days=1),
    Period.LAST_WEEK: timedelta(weeks=1),
    Period.LAST_MONTH: timedelta(days=30),
}
_DAYS = {period.value: period for period in (Period.TODAY, Period.YESTERDAY)}


def period_bounds(period: Period, now_us: int) -> tuple[int, int | None]:
    """Return the start and end of a period in Unix microseconds. An open end is None.

    A month has 30 days.
    """
    now = _EPOCH + now_us * _MICROSECOND
    if period in _LENGTHS:
        return _microseconds(now - _LENGTHS[period]), None
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if period is Period.TODAY:
        return _microseconds(today), None
    return _microseconds(today - timedelta(days=1)), _microseconds(today)


def read_period(text: str, now_us: int) -> tuple[int, int | None]:
    """Return the bounds of the period named `text`.

    Raises ValueError for an unknown name. The hint of the error lists the valid names.
    """
    if text.lower() not in list(Period):
        raise ValueError(f"{text!r} is not a period.", f"It is one of {', '.join(Period)}.")
    return period_bounds(Period(text.lower()), now_us)


def read_moment(text: str, now_us: int) -> int:
    """Read a moment: an ISO date or time, an age such as `2h`, or the name of a day.

    Returns Unix microseconds. `today` and `yesterday` are the beginnings of these days in UTC. The
    text `now` means `now_us`.

    Raises ValueError with a message and a hint.
    """
    text = text.strip()
    if text == "now":
        return now_us
    if text in _DAYS:
        return period_bounds(_DAYS[text], now_us)[0]
    try:
        if found := _AGO.fullmatch(text):
            return now_us - int(found[1]) * (_UNITS[found[2]] // _MICROSECOND)
        moment = datetime.fromisoformat(text)
        return _microseconds(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError) as error:
        raise ValueError(
            f"{text!r} is not a time.", "Write it like 2h, 7d, 2026-11-01 or 2026-11-01T09:30Z."
        ) from error


def write_moment(at_us: int) -> str:
    """Return the moment in ISO form, to the microsecond.

    A moment outside of the years from 1 to 9999 becomes the nearest moment in these years.
    """
    try:
        moment = _EPOCH + at_us * _MICROSECOND
    except OverflowError:
        moment = datetime.max.replace(tzinfo=UTC) if at_us > 0 else datetime.min.replace(tzinfo=UTC)
    return moment.isoformat().replace("+00:00", "Z")


def _microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND
