"""Properties of the whole path: any split of a stream, any order of outcomes, any cut of a history.

Each has a few examples in the quick tests and over a thousand under `slow`.
"""

import asyncio
import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cases.playing import play
from tests.fakes.clock import FakeClock, settle
from tests.fakes.model import FakeModel, Say
from tests.fakes.replies import Answer, Script, body, call_delta, delta, sse, usage_chunk
from tests.fakes.wire_rules import violations
from tests.session.parts import Echo, EchoArguments, EchoResult, stage
from treadle.config.model import ToolSettings
from treadle.events.types import (
    CallKey,
    ErrorKind,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallLate,
    ToolCallRequested,
)
from treadle.llm.endpoint import Endpoint
from treadle.llm.messages import (
    AssistantMessage,
    Message,
    ModelReply,
    NoteMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from treadle.llm.reply_assembler import DeltaAssembler
from treadle.llm.reply_stream import Data, SseReader
from treadle.llm.valid_history import Dialect
from treadle.llm.wire import encode, encode_flat
from treadle.session.history import ContextWindowError, build_prompt
from treadle.tools.approvals.question import Policy
from treadle.tools.contract import Arguments, Tool, ToolContext, ToolEffect, ToolError

RECORDED = Path(__file__).parent / "recorded"
"""Bytes from the llama.cpp server (scripts/record_llama_server.py)."""

few = settings(max_examples=15, suppress_health_check=list(HealthCheck))
many = settings(max_examples=1_200, suppress_health_check=list(HealthCheck))


# Any split of a stream.


def built() -> bytes:
    """A stream with text, reasoning, interleaved calls and comments, and letters of many bytes."""
    script = sse(
        ": hello\n\n",
        delta(role="assistant", content=None, reasoning_content="Grüße 👋"),
        call_delta(0, id="1", name="echo", arguments='{"text"'),
        call_delta(1, id="2", name="echo", arguments=""),
        ": 👩‍👩‍👧\r\n\r\n",
        call_delta(1, arguments='{"text": "é'),
        call_delta(0, arguments=': "a"}'),
        call_delta(1, arguments='👋"}'),
        delta(finish_reason="tool_calls"),
        usage_chunk(),
    )
    return b"".join(step for step in script.steps if isinstance(step, bytes))


STREAMS = {path.stem: path.read_bytes() for path in sorted(RECORDED.glob("*.sse"))}
STREAMS["built"] = built()
STREAMS["built with returns"] = built().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def assembled(pieces: Sequence[bytes]) -> tuple[ModelReply, str]:
    assembler = DeltaAssembler(
        Endpoint("fake", "m", "http://127.0.0.1:1/v1"), turn=0, tools=frozenset({"echo"})
    )
    reader, shown, done = SseReader(), "", False
    events = [event for piece in pieces for event in reader.feed(piece)]
    for event in [*events, *reader.end()]:
        if not isinstance(event, Data):
            continue
        if event.text == "[DONE]":
            done = True
        else:
            shown += "".join(part.text for part in assembler.feed(json.loads(event.text)))
    return assembler.reply(done=done), shown


@st.composite
def splits(draw: st.DrawFn) -> tuple[str, list[bytes]]:
    """A stream and its bytes, divided anywhere."""
    name = draw(st.sampled_from(sorted(STREAMS)))
    stream = STREAMS[name]
    places = draw(st.lists(st.integers(0, len(stream)), max_size=60).map(sorted))
    edges = [0, *places, len(stream)]
    return name, [stream[a:b] for a, b in itertools.pairwise(edges)]


def _any_split(split: tuple[str, list[bytes]]) -> None:
    name, pieces = split
    assert assembled(pieces) == assembled([STREAMS[name]])


def test_any_split_of_a_stream_gives_the_same_reply() -> None:
    few(given(splits())(_any_split))()


@pytest.mark.slow
def test_any_of_many_splits_of_a_stream_gives_the_same_reply() -> None:
    many(given(splits())(_any_split))()


@pytest.mark.parametrize("name", sorted(STREAMS))
def test_a_chunk_for_every_byte_gives_the_same_reply(name: str) -> None:
    stream = STREAMS[name]
    assert assembled([stream[at : at + 1] for at in range(len(stream))]) == assembled([stream])


@pytest.mark.parametrize("size", [1, 7, None])
@pytest.mark.parametrize("name", sorted(STREAMS))
async def test_the_same_over_http(name: str, size: int | None) -> None:
    """A recorded call runs, whatever the borders of the HTTP chunks; so does a recorded answer."""
    script = Script((STREAMS[name],), headers={"content-type": "text/event-stream"}, split=size)
    whole, _ = assembled([STREAMS[name]])
    replies = (script, Answer("Done.")) if whole.message.calls else (script,)
    async with play(*replies, tools=[Echo(), Context()]) as at:
        outcome = await at.ask()
        called = at.at.seen(ToolCallRequested)
        assert [event.arguments for event in called] == [c.arguments for c in whole.message.calls]
        assert all(answer["ok"] for answer in at.answers())
        assert outcome.text == ("Done." if called else whole.message.text or "")


async def test_a_recorded_reply_that_was_not_streamed() -> None:
    recorded = json.loads((RECORDED / "llama_cpp_call.json").read_bytes())
    async with play(body(recorded), Answer("Done."), tools=[Context()], stream=False) as at:
        assert (await at.ask()).text == "Done."
        assert at.answers()[0]["ok"]


class ContextArguments(Arguments):
    """Those of the recorded call."""

    token_budget: int


class Context(Tool[ContextArguments, EchoResult]):
    """Has the name of the tool that the recorded server calls."""

    name: ClassVar[str] = "request_code_context"
    description: ClassVar[str] = "Find code."
    arguments = ContextArguments
    result = EchoResult

    async def run(self, arguments: ContextArguments, context: ToolContext) -> EchoResult:
        return EchoResult(text=f"{arguments.token_budget} tokens")


# Any interleaving of completions, failures, time-outs, cancellations and late results.

Way = Literal["complete", "fail", "hang", "late", "late failure", "crash"]


@dataclass(frozen=True, slots=True)
class Life:
    """The behaviour of one call: when it ends, in seconds, and how."""

    at: int
    way: Way


class Living(Echo):
    """Lasts as long as the test states: its text is the number of its behaviour."""

    name: ClassVar[str] = "live"
    effect: ClassVar[ToolEffect] = ToolEffect.WRITE
    policy: ClassVar[Policy | None] = Policy.ALLOW

    def __init__(self, lives: Sequence[Life]) -> None:
        self._lives = lives

    async def run(self, arguments: EchoArguments, context: ToolContext) -> EchoResult:
        life = self._lives[int(arguments.text)]
        try:
            await (asyncio.Event().wait() if life.way == "hang" else context.clock.sleep(life.at))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not life.way.startswith("late") or task is None:
                raise
            task.uncancel()
            await context.clock.sleep(3)
        if life.way in ("fail", "late failure"):
            raise ToolError(ErrorKind.CONFLICT, "It is taken.")
        if life.way == "crash":
            raise RuntimeError("boom")
        return EchoResult(text=arguments.text)


ways: st.SearchStrategy[Way] = st.sampled_from(
    ["complete", "fail", "hang", "late", "late failure", "crash"]
)
lives = st.lists(st.builds(Life, st.integers(0, 9), ways), min_size=1, max_size=7)


async def _live(lives: Sequence[Life], cancel_at: int | None, concurrent: int) -> None:
    clock = FakeClock()
    calls = tuple(("live", json.dumps({"text": str(n)})) for n in range(len(lives)))
    model = FakeModel(Say(calls=calls), Say("Done."))
    chosen = ToolSettings(timeout=5, max_concurrent=concurrent)
    async with stage(Living(lives), clock=clock) as at:
        running = asyncio.ensure_future(at.session(model, settings=chosen).run("Go"))
        for second in range(60):
            if running.done():
                break
            if second == cancel_at:
                running.cancel()
            await clock.advance(1)
            await asyncio.sleep(0.0005)  # work in threads
        await asyncio.gather(running, return_exceptions=True)
        await at.session(FakeModel(Say("Done."))).run("And now?")
        await clock.advance(20)
        await settle()
        wire = encode(at.conversation.messages, Dialect("fake", "fake-model"))
        ours = [m for m in at.conversation.messages if isinstance(m, ToolMessage)]
        asked = [
            call.key
            for m in at.conversation.messages
            if isinstance(m, AssistantMessage)
            for call in m.calls
        ]
        assert [message.key for message in ours] == asked
        answered = [event.key for event in at.seen(ToolCallCompleted)]
        answered += [event.key for event in at.seen(ToolCallFailed)]
        assert sorted(answered) == asked
        late = [event.key for event in at.seen(ToolCallLate)]
        assert set(late) <= set(asked)
        assert len(late) == len(set(late))
        assert violations({"messages": [*wire, {"role": "user", "content": "?"}]}) == []


def _any_interleaving(lives: Sequence[Life], cancel_at: int | None, concurrent: int) -> None:
    asyncio.run(_live(lives, cancel_at, concurrent))


INTERLEAVED = given(lives, st.none() | st.integers(0, 12), st.sampled_from([1, 2, 8]))


def test_any_interleaving_gives_each_call_one_result() -> None:
    few(INTERLEAVED(_any_interleaving))()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_any_of_many_interleavings_gives_each_call_one_result() -> None:
    many(INTERLEAVED(_any_interleaving))()


# Any cut of a history.

keys = st.builds(CallKey, st.integers(0, 4), st.integers(0, 2))
texts = st.sampled_from(["", " ", "text", "é👋", "word " * 300])
whole_calls = st.builds(
    ToolCall,
    keys,
    st.sampled_from(["", "a", "x" * 50]),
    st.just("echo"),
    st.sampled_from(["{}", "["]),
)
messages: st.SearchStrategy[Message] = st.one_of(
    st.builds(SystemMessage, texts),
    st.builds(UserMessage, texts, texts, st.booleans()),
    st.builds(NoteMessage, texts, st.integers(0, 3)),
    st.builds(ToolMessage, keys, texts),
    st.builds(AssistantMessage, st.none() | texts, st.lists(whole_calls, max_size=3).map(tuple)),
)


def _any_cut(history: list[Message], start: int, window: int) -> None:
    cut = [*history[start:], UserMessage("And now?")]
    try:
        prompt = build_prompt("Be exact.", cut, (), context_window=window)
    except ContextWindowError:
        return
    assert prompt.estimated_tokens <= prompt.budget_tokens
    for wire in (encode(prompt.messages, Dialect("fake", "m")), encode_flat(prompt.messages)):
        assert violations({"messages": wire}) == []
        assert str(wire[-1]["content"]).endswith("And now?")


CUT = given(st.lists(messages, max_size=14), st.integers(0, 14), st.integers(256, 6_000))


def test_any_cut_of_a_history_is_in_order_on_the_wire() -> None:
    few(CUT(_any_cut))()


@pytest.mark.slow
def test_any_of_many_cuts_of_a_history_is_in_order_on_the_wire() -> None:
    many(CUT(_any_cut))()
