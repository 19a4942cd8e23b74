"""Compares the answers to a request with ids of another project and with unknown ids."""

import re
import uuid
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

import httpx2

from tests.isolation.statements import PROBE_HEADER, Statements
from tests.isolation.world import OTHER_UNKNOWN, SECRETS, UNKNOWN, VICTIM, Kind, World

Send = Callable[[Mapping[Kind, str], Mapping[str, str]], Awaitable[httpx2.Response]]
"""Sends a request with these ids and headers from the other project."""

_NEW = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|[0-9a-f]{32}|\b1[0-9]{15}\b|ticket=[\w-]+"
    r"|(?<=/v2/images/)[\w-]{22}(?=\.)"
)
"""Ids, times and tickets of new things."""
_MEASURED = re.compile(r'"(latency|took_ms)":[0-9.e-]+')
_EXPIRY = re.compile(r"expires=[^;]+")
"""The time at which a cookie ends. It is the present time for a deleted cookie."""
_COMPUTED = re.compile(r'{"span_id":"[0-9a-f]{16}"}')
"""The answer of a route that computes the id of a span from the ids of the request."""
_REPETITIONS = 3
"""How often requests are repeated if their statements differ.

A new connection executes further statements, so one difference may have this harmless reason.
"""
_VARYING = frozenset({"date", "content-length", "x-trace-id", "x-span-id", "mcp-session-id"})


async def faults_of(
    world: World, name: object, kinds: Collection[Kind], send: Send, *, creates: bool = False
) -> list[str]:
    """Return how the answer reveals the other project. The list is empty if it does not.

    The answer to an id of the other project must equal the answer to an unknown id. Both requests
    must execute the same statements on the same stores. `creates` states that the answer has new
    ids and times.
    """
    ids = world.ids[VICTIM]
    answers, statements = await _sent(world, send, (OTHER_UNKNOWN, UNKNOWN, ids))
    for _ in range(_REPETITIONS):
        if creates or statements[1] == statements[2]:
            break
        answers, statements = await _sent(world, send, (OTHER_UNKNOWN, UNKNOWN, ids))
    faults = []
    unknown = comparable(answers[1], kinds, UNKNOWN, creates=creates)
    foreign = comparable(answers[2], kinds, ids, creates=creates)
    if unknown != foreign:
        faults.append(f"{name}: the answers differ: {_difference(unknown, foreign)}")
    if statements[1] != statements[2] and not creates:
        faults.append(f"{name}: the statements differ: {_difference(*statements[1:])}")
    places = {store for store, _ in statements[2]}
    if foreign_places := places & world.places(VICTIM):
        faults.append(f"{name}: reads {foreign_places}")
    if SECRETS[VICTIM] in answers[2].text:
        faults.append(f"{name}: shows {answers[2].text[:1_000]}")
    return faults


async def _sent(
    world: World, send: Send, given: Sequence[Mapping[Kind, str]]
) -> tuple[list[httpx2.Response], list[Statements]]:
    """Send a request with each of these ids. The first one fills the caches for the others."""
    answers, statements, probe = [], [], uuid.uuid4().hex
    for number, ids in enumerate(given):
        answers.append(await send(ids, {PROBE_HEADER: f"{probe} {number}"}))
        statements.append(world.recorded.of_probe[f"{probe} {number}"])
    return answers, statements


def comparable(
    answer: httpx2.Response, kinds: Collection[Kind], ids: Mapping[Kind, str], *, creates: bool
) -> tuple[int, Mapping[str, str], str]:
    """Return the status, headers and text of an answer, without ids and measured times."""
    text = _MEASURED.sub("<measured>", _COMPUTED.sub("<computed>", answer.text))
    parts = {Kind.TRACE, Kind.SPAN} if Kind.SPAN_PATH in kinds else set()
    for kind in sorted({*kinds, *parts}, key=lambda kind: -len(ids[kind])):
        text = text.replace(ids[kind], f"<{kind}>")
    headers = {
        key: _EXPIRY.sub("<time>", value)
        for key, value in answer.headers.items()
        if key not in _VARYING
    }
    return answer.status_code, headers, _NEW.sub("<new>", text) if creates else text


def _difference(first: object, second: object) -> str:
    """Return the first part in which two values differ."""
    one, two = repr(first), repr(second)
    at = next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), 0)
    start = max(0, at - 80)
    return f"{one[start : at + 120]!r} {two[start : at + 120]!r}"
