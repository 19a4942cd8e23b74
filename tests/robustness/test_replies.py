"""Replies that break the rules: the request fails or continues, and the conversation stays
usable.
"""

import contextlib
import json
from collections.abc import Iterator

import pytest

from tests.fakes.provider import FakeProvider, RecordedRequest
from tests.fakes.replies import Answer, Script, call_delta, delta, sse, usage, usage_chunk
from tests.session.parts import Echo, stage
from treadle.clock import SystemClock
from treadle.config.model import ProviderSettings
from treadle.llm.client import HttpChatModel
from treadle.llm.endpoint import Endpoint
from treadle.llm.provider_errors import ProviderError

WRONG: tuple[object, ...] = (
    None,
    True,
    -1,
    10**30,
    "\ud800\x00\x1b[31m",
    [[]],
    {"a": 1},
    float("nan"),
)
"""No field expects all of them. The last one is not JSON, yet servers in Python send it."""

PLAIN = {"id", "object", "created", "model", "total_tokens"}
"""Fields of a chunk that Treadle does not read."""

Path = tuple[str | int, ...]


def _chunks() -> list[object]:
    detail = {"type": "reasoning.text", "text": "t", "index": 0}
    counts = usage(prompt_tokens_details={"cached_tokens": 1}, cost=0.1)
    return [
        delta(role="assistant", content="", reasoning_content="r", reasoning_details=[detail]),
        delta(content="Hi "),
        call_delta(0, id="c1", name="echo", arguments='{"te'),
        call_delta(0, arguments='xt":"a"}', extra_content={"google": {"signature": "s"}}),
        delta(finish_reason="tool_calls"),
        usage_chunk(counts),
    ]


def _paths(value: object, path: Path = ()) -> Iterator[Path]:
    yield path
    if isinstance(value, dict):
        for name in value.keys() - (PLAIN if not path or path == ("usage",) else set()):
            yield from _paths(value[name], (*path, name))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _paths(inner, (*path, place))


def _with(value: object, path: Path, new: object) -> object:
    if not path:
        return new
    if isinstance(value, dict):
        return {k: _with(v, path[1:], new) if k == path[0] else v for k, v in value.items()}
    assert isinstance(value, list)
    return [_with(v, path[1:], new) if at == path[0] else v for at, v in enumerate(value)]


def _stream(values: object) -> Script:
    assert isinstance(values, list)
    return sse(*(f"data: {json.dumps(value)}\n\n" for value in values))


async def _survives(*scripts: Script) -> None:
    """Ask once for each script, then once more, in one conversation."""
    played: Script | Answer = Answer("Fine.")

    def reply(request: RecordedRequest) -> Script | Answer:
        return Answer("Fine.") if request.messages[-1]["role"] == "tool" else played

    async with stage(Echo(), clock=SystemClock()) as at, FakeProvider() as provider:
        settings = ProviderSettings(max_retries=0, idle_timeout=20)
        model = HttpChatModel(Endpoint("fake", "m", provider.base_url, settings=settings))
        try:
            for script in scripts:
                played = script
                provider.add(*[reply] * 4)
                with contextlib.suppress(ProviderError):  # either end is right
                    await at.session(model).run("Go")
            played = Answer("Fine.")
            assert (await at.session(model).run("Again")).text == "Fine."
        finally:
            await model.close()


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.slow), 4])
@pytest.mark.parametrize("place", range(len(_chunks())))
async def test_a_wrong_type_in_any_field_of_a_chunk(place: int, every: int) -> None:
    """Each field gets one value in `every`, the next field the next ones: all take 10 s."""
    for number, path in enumerate(_paths(_chunks()[place])):
        wrong = WRONG[number % every :: every]
        await _survives(*(_stream(_with(_chunks(), (place, *path), new)) for new in wrong))


DEEP = "[" * 100_000
CALLED = delta(finish_reason="tool_calls")


@pytest.mark.parametrize(
    "script",
    [
        sse(f"data: {DEEP}\n\n"),
        sse(call_delta(0, id="x", name="echo", arguments=f'{{"text": {DEEP}'), CALLED),
        sse(call_delta(0, id="x", name="echo", arguments=DEEP + "]" * 100_000), CALLED),
        sse(call_delta(0, id="x", name="echo", arguments='{"times": NaN}'), CALLED),
        sse(call_delta(0, id="x", name="echo", arguments='{"times": 1e999}'), CALLED),
        Script((DEEP.encode(),), headers={"content-type": "application/json"}),
        Script((DEEP.encode(),), status=400, headers={"content-type": "application/json"}),
    ],
    ids=["chunk", "cut arguments", "arguments", "nan", "infinite", "body", "error"],
)
async def test_invalid_and_too_deep_json(script: Script) -> None:
    await _survives(script)
