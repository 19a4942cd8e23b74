"""Queries of the trace list."""

from treadle.traces.query.language import QuerySyntaxError, parse_query

REFUSALS = (QuerySyntaxError,)
SEEDS = (
    b"status:error since:7d",
    b'model:gpt-* tokens>1000 -label:"a b" cost>=0.5 duration<2s',
    b"tool:read_file (timeout or refused) since:2026-01-02T03:04:05Z",
)
WORDS = (
    *(b"status:", b"since:", b"until:", b"model:", b"label:", b"tokens>", b"cost>=", b"duration<"),
    *(b"tool:", b"kind:", b"thread:", b"run:", b"trace:", b"error:", b"has:", b" or ", b'"', b"\\"),
)


def parse(data: bytes) -> None:
    parse_query(data.decode(errors="replace"), now_us=1_791_000_000_000_000)
