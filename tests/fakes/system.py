"""A system that behaves differently at the n-th call, or from there on."""

import errno
import os
from collections.abc import Callable
from typing import Any

from treadle.edits.tree import System


class FakeSystem(System):
    """Counts the calls from 1 and, at number `at`, calls `act` before the call is made.

    `act` may raise; with `lasting` it runs at every later call as well. Without `exchanges` the
    machine cannot exchange files or rename without replacing.
    """

    def __init__(self, *, exchanges: bool = True) -> None:
        self.calls: list[str] = []
        self.at: int | None = None
        self.lasting = False
        self.act: Callable[[], object] = lambda: None
        self._exchanges = exchanges
        for name in vars(System):
            if not name.startswith("_") and name != "pause":
                setattr(self, name, self._counted(name, getattr(self, name)))

    def do_at(
        self, number: int | None, act: Callable[[], object], *, lasting: bool = False
    ) -> None:
        self.calls.clear()
        self.at, self.act, self.lasting = number, act, lasting

    def exchange(self, folder: int, one: str, other: str) -> None:
        if self._exchanges:
            super().exchange(folder, one, other)
        else:
            self.exchange_by_links(folder, one, other)

    def move(self, folder: int, name: str, target: str) -> None:
        if self._exchanges:
            super().move(folder, name, target)
        else:
            self.link(folder, name, target)
            self.remove_file(folder, name)

    def _counted(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            self.calls.append(name)
            number = len(self.calls)
            if self.at is None or number < self.at or (number > self.at and not self.lasting):
                return call(*arguments)
            if name != "close":
                self.act()
                return call(*arguments)
            call(*arguments)  # its error leaves the file closed
            return self.act()

        return counted


def fail(number: int = errno.EIO) -> Callable[[], object]:
    """Raises an error of the system."""

    def act() -> object:
        raise OSError(number, os.strerror(number))

    return act
