"""Caches answers for identical calls in bounded memory."""

from collections import OrderedDict
from dataclasses import dataclass
from hashlib import blake2b

from treadle.clock import Clock
from treadle.config.gateway import GatewayCache
from treadle.config.quantities import age_us, size_bytes
from treadle.gateway.request import CallRequest

_ENTRY_BYTES = 500
"""The approximate size of an entry in bytes, without its content."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A complete successful answer. `blocks` are its parts as they arrived."""

    headers: tuple[tuple[bytes, bytes], ...]
    blocks: tuple[bytes, ...]
    provider: str
    model: str

    @property
    def size(self) -> int:
        """The approximate size in memory in bytes."""
        texts = sum(len(name) + len(value) for name, value in self.headers)
        return _ENTRY_BYTES + texts + sum(map(len, self.blocks))


class AnswerCache:
    """Caches answers by their requests. A full cache drops its least recently used answers."""

    def __init__(
        self, settings: GatewayCache, clock: Clock, *, key_headers: frozenset[str]
    ) -> None:
        """Create the cache.

        The headers in `key_headers` are part of the cache key, since the route of a call depends on
        them.
        """
        self._key_headers = key_headers | {"accept", "accept-encoding"}
        self.enabled = settings.enabled
        self._clock = clock
        self._max_age = age_us(settings.max_age) / 1e6
        self._max_size = size_bytes(settings.max_size)
        self._kept: OrderedDict[bytes, tuple[float, Kept]] = OrderedDict()
        self._size = 0

    @property
    def most_bytes(self) -> int:
        """The maximum size of a cached answer in bytes. It is 0 if the cache is disabled."""
        return self._max_size if self.enabled else 0

    def key(self, request: CallRequest) -> bytes | None:
        """The cache key of a request, or None if the cache must not answer the request."""
        if not self.enabled or request.operation.passes_through or _declined(request):
            return None
        digest = blake2b(digest_size=32)
        headers = [(n, v) for n, v in request.headers if n in self._key_headers]
        for part in (
            request.target.path_for(request.named_model or ""), request.query, request.key or "",
            repr(headers), repr(request.context.labels),
        ):  # fmt: skip
            text = part.encode("utf-8", "surrogateescape")
            digest.update(len(text).to_bytes(8, "big") + text)
        digest.update(request.content)
        return digest.digest()

    def get(self, key: bytes) -> Kept | None:
        """The cached answer for a key, or None if there is no answer or the answer is too old."""
        found = self._kept.get(key)
        if found is None:
            return None
        if self._clock.monotonic() - found[0] > self._max_age:
            self._drop(key)
            return None
        self._kept.move_to_end(key)
        return found[1]

    def add(self, key: bytes, answer: Kept) -> None:
        """Cache an answer. The least recently used answers are dropped if the cache is full."""
        self._drop(key)
        if answer.size > self._max_size:
            return
        self._kept[key] = self._clock.monotonic(), answer
        self._size += answer.size
        while self._size > self._max_size:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: bytes) -> None:
        found = self._kept.pop(key, None)
        if found is not None:
            self._size -= found[1].size


def _declined(request: CallRequest) -> bool:
    """Whether the client's headers refuse a cached answer."""
    said = ",".join(value for name, value in request.headers if name == "cache-control").lower()
    return "no-cache" in said or "no-store" in said
