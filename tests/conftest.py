"""Guards for all tests."""

import socket
from collections.abc import Iterator

import hypothesis
import pytest

# No deadline: a busy machine is no failure.
hypothesis.settings.register_profile("treadle", deadline=None)
hypothesis.settings.load_profile("treadle")

_LOOPBACK = ("127.", "::1", "localhost")


@pytest.fixture(autouse=True, scope="session")
def _no_network() -> Iterator[None]:
    """Refuse every connection that leaves this machine: no test may reach a live provider."""
    connect = socket.socket.connect
    connect_ex = socket.socket.connect_ex

    def check(address: object) -> None:
        if isinstance(address, tuple) and not str(address[0]).startswith(_LOOPBACK):
            raise RuntimeError(f"a test tried to reach {address[0]}; tests stay on loopback")

    def guarded(self: socket.socket, address: tuple[object, ...] | str | bytes) -> None:
        check(address)
        connect(self, address)

    def guarded_ex(self: socket.socket, address: tuple[object, ...] | str | bytes) -> int:
        check(address)
        return connect_ex(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded)
        patch.setattr(socket.socket, "connect_ex", guarded_ex)
        yield
