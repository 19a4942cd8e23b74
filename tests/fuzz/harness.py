"""Fuzzing targets, their corpora, and the replay of one input within limits of time and memory.

A target is a module in `targets/`. It has

- `parse(data: bytes) -> None`, which gives the bytes to one parser of foreign data;
- `REFUSALS`, the errors that this parser documents: `parse` may raise these and no others;
- `SEEDS`, valid inputs that the fuzzer starts from;
- optionally `WORDS`, the names and signs of the format, which the fuzzer inserts.

`corpus/<target>/` holds more inputs: each reached code that no other did, or was a find once.
"""

import importlib
import pkgutil
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import tests.fuzz.targets as modules

SECONDS_LIMIT = 5
"""Processor time of one input. Parsers need milliseconds for inputs of the corpus's size."""
MEMORY_LIMIT = 1 << 30
"""Bytes that one input may add to the process."""

CORPUS = Path(__file__).parent / "corpus"


class HangError(Exception):
    """A parser needed more processor time than SECONDS_LIMIT for one input."""


@dataclass(frozen=True, slots=True)
class Target:
    """A parser of foreign bytes."""

    name: str
    parse: Callable[[bytes], None]
    refusals: tuple[type[Exception], ...]
    seeds: tuple[bytes, ...]
    words: tuple[bytes, ...] = ()

    @property
    def folder(self) -> Path:
        """The folder of its corpus."""
        return CORPUS / self.name

    def inputs(self) -> Iterator[tuple[str, bytes]]:
        """The seeds and the corpus, each with a name."""
        yield from ((f"seed {number}", seed) for number, seed in enumerate(self.seeds))
        yield from ((path.name, path.read_bytes()) for path in sorted(self.folder.glob("*")))

    def check(self, data: bytes) -> None:
        """Parse `data`. Raises undocumented errors of the parser."""
        with suppress(*self.refusals):
            self.parse(data)

    def check_bounded(self, data: bytes) -> None:
        """The same; raises also HangError and MemoryError."""
        with _time_limited(), _memory_limited():
            self.check(data)


def names() -> list[str]:
    """The names of all targets."""
    return sorted(found.name for found in pkgutil.iter_modules(modules.__path__))


def load(name: str) -> Target:
    """The target of that name; this imports its parser."""
    module = importlib.import_module(f"{modules.__name__}.{name}")
    words = tuple(getattr(module, "WORDS", ()))
    return Target(name, module.parse, tuple(module.REFUSALS), tuple(module.SEEDS), words)


@contextmanager
def _time_limited() -> Iterator[None]:
    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise HangError(f"one input took more than {SECONDS_LIMIT} s of processor time")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS_LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextmanager
def _memory_limited() -> Iterator[None]:
    used = _address_space()
    before = resource.getrlimit(resource.RLIMIT_AS)
    if used:
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY_LIMIT, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _address_space() -> int:
    """Bytes that this process has mapped; 0 if the system does not report it."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:
        return 0
    return pages * resource.getpagesize()
