"""Which headers are passed on in either direction."""

from collections.abc import Iterable

Headers = list[tuple[str, str]]

_HOP_BY_HOP = frozenset({
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection",
    "te", "trailer", "transfer-encoding", "upgrade",
})  # fmt: skip
"""RFC 9110, section 7.6.1: they speak of one connection."""

_OURS = frozenset({
    "host", "content-length", "expect", "authorization", "api-key", "x-api-key", "cookie", "origin",
    "referer", "forwarded", "x-real-ip", "x-thread-id", "x-run-id", "x-label", "traceparent",
    "tracestate", "baggage", "accept-encoding",
})  # fmt: skip
"""Headers of a request that are meant for the gateway, or about who calls it."""

_THEIRS = frozenset({
    "date", "server", "set-cookie", "location", "refresh", "strict-transport-security", "alt-svc",
    "x-trace-id", "x-span-id",
})  # fmt: skip
"""Headers of an answer that speak of another host than the client called."""

_READABLE = frozenset({"gzip", "deflate", "identity"})
"""Encodings of which a copy can be read for the trace."""


def forwarded(headers: Iterable[tuple[str, str]]) -> Headers:
    """The headers of a request to send on. Names are in lower case."""
    given = list(headers)
    named = {
        name.strip().lower()
        for header, value in given
        if header == "connection"
        for name in value.split(",")
    }
    left_out = named | _OURS | _HOP_BY_HOP
    kept = [
        (name, value)
        for name, value in given
        if name not in left_out and not name.startswith(("x-treadle-", "x-forwarded-", "sec-"))
    ]
    encodings = _encodings(value for name, value in given if name == "accept-encoding")
    return [*kept, ("accept-encoding", encodings or "identity")]


def returned(
    headers: Iterable[tuple[bytes, bytes]], *, measured: bool, encoded: bool = True
) -> list[tuple[bytes, bytes]]:
    """The headers of an answer to give back; without its length unless it is `measured`.

    Without its encoding unless it is still `encoded`.
    """
    kept = []
    for name, value in headers:
        lower = name.lower()
        plain = lower.decode("latin-1")
        if plain in _HOP_BY_HOP or plain in _THEIRS or plain.startswith("x-treadle-"):
            continue
        if plain == "content-length" and not measured:
            continue
        if plain == "content-encoding" and not encoded:
            continue
        kept.append((lower, value))
    return kept


def _encodings(values: Iterable[str]) -> str:
    offered = (each.strip() for value in values for each in value.split(","))
    return ", ".join(e for e in offered if e.partition(";")[0].strip().lower() in _READABLE)
