"""Every input of every corpus is parsed, or refused with a documented error, within limits."""

import pytest

from tests.fuzz import harness


@pytest.mark.parametrize("name", harness.names())
def test_corpus_raises_documented_errors_only(name: str) -> None:
    target = harness.load(name)
    for source, data in target.inputs():
        try:
            target.check_bounded(data)
        except Exception as error:
            raise AssertionError(f"{name} fails on {source}: {data[:200]!r}") from error


def test_undocumented_error_is_reported() -> None:
    def parse(data: bytes) -> None:
        if data == b"bad":
            raise KeyError(data)
        raise ValueError(data)

    target = harness.Target("example", parse, (ValueError,), ())
    target.check_bounded(b"refused")
    with pytest.raises(KeyError):
        target.check_bounded(b"bad")


def test_hang_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(data: bytes) -> None:
        while data:
            pass

    monkeypatch.setattr(harness, "SECONDS_LIMIT", 0.01)
    with pytest.raises(harness.HangError):
        harness.Target("example", parse, (), ()).check_bounded(b"x")


def test_memory_is_limited() -> None:
    def parse(data: bytes) -> None:
        bytearray(len(data) << 32)

    with pytest.raises(MemoryError):
        harness.Target("example", parse, (), ()).check_bounded(b"x")
