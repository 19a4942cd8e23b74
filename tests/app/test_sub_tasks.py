"""Questions that a model hands to fresh sessions with `ask_code`."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model import FakeModel, Say, calls
from treadle.app.application import Toolset, open_app
from treadle.app.assistant import Assistant
from treadle.app.choices import Choices
from treadle.app.sub_tasks import checked_citations
from treadle.config.model import Settings
from treadle.errors import StoreError
from treadle.events import Event
from treadle.events.types import (
    ApprovalRequested,
    SessionCancelled,
    SessionFinished,
    SessionStarted,
    SourceRange,
    StopReason,
    ToolCallFailed,
)
from treadle.ids import new_id
from treadle.llm.messages import ChatRequest, ToolMessage, UserMessage
from treadle.session import SessionOutcome


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "home"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "calc.py").write_text("def add(left, right):\n    return left + right\n")
    (folder / ".env").write_text("KEY=1\n")
    return folder


Reply = Callable[[ChatRequest], Say]


class Scripted(FakeModel):
    """A model whose reply depends on the request, since sessions run at the same time."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(*[reply] * 100)


def question_of(request: ChatRequest) -> str:
    asked = [each.text for each in request.messages if isinstance(each, UserMessage)]
    return next((each for each in asked if each.startswith(("Main", "Sub"))), "")


def answered(request: ChatRequest) -> list[str]:
    return [each.content for each in request.messages if isinstance(each, ToolMessage)]


def asking(*questions: str) -> Say:
    return Say(calls=calls(("ask_code", json.dumps({"questions": questions}))))


@asynccontextmanager
async def assistant(
    root: Path, reply: Reply, **settings: Any
) -> AsyncIterator[tuple[Assistant, list[Event]]]:
    whole = Settings.model_validate({"context": {"automatic": "off"}, **settings})
    async with open_app(root, toolset=Toolset.CODE, settings=whole) as app:
        events: list[Event] = []
        with app.bus.subscribe() as subscription:

            async def record() -> None:
                async for envelope in subscription:
                    events.append(envelope.event)  # noqa: PERF401  (each as it comes)

            recorder = asyncio.create_task(record())
            yield Assistant(app, Choices(), Scripted(reply)), events
        await recorder


async def run(opened: Assistant) -> SessionOutcome:
    conversation = await opened.conversation()
    session = await opened.session(conversation, new_id())
    return await session.run("Main question")


async def test_answers_have_checked_sources_and_their_cost_counts_for_the_whole(
    root: Path,
) -> None:
    def reply(request: ChatRequest) -> Say:
        if question_of(request) == "Main question":
            return asking("Sub A", "Sub B") if not answered(request) else Say("Both.")
        assert {tool.name for tool in request.tools}.isdisjoint(
            {"ask_code", "update_plan", "create_file", "run_check"}
        )
        if not answered(request):
            return Say(calls=calls(("read_file", '{"path": "calc.py"}')))
        return Say("It adds: calc.py:1-2, not calc.py:90.")

    async with assistant(root, reply) as (opened, events):
        outcome = await run(opened)
    assert outcome.text == "Both."
    requests = opened.model.requests  # type: ignore[attr-defined]  # a fake model
    assert len(requests) == 6
    assert outcome.cost == pytest.approx(6 * 0.25)
    assert outcome.usage.input == 60
    (result,) = answered(requests[-1])
    answers = json.loads(result)["answers"]
    assert [each["question"] for each in answers] == ["Sub A", "Sub B"]
    for each in answers:
        assert each["sources"] == ["calc.py:1-2"]
        assert each["unverified"] == ["calc.py:90"]
    main, *nested = [each for each in events if isinstance(each, SessionStarted)]
    assert [each.parent_id for each in nested] == [main.request_id] * 2
    assert all(each.parent_key is not None for each in nested)


async def test_failed_question_returns_the_answers_of_the_others(root: Path) -> None:
    def reply(request: ChatRequest) -> Say:
        match question_of(request):
            case "Main question":
                return asking("Sub A", "Sub B", "Sub C") if not answered(request) else Say("Half.")
            case "Sub A":
                raise StoreError("no key")
            case "Sub C":
                raise ValueError("a fault")
        return Say("Yes.")

    async with assistant(root, reply) as (opened, _):
        await run(opened)
    (result,) = answered(opened.model.requests[-1])  # type: ignore[attr-defined]  # a fake model
    first, second, third = json.loads(result)["answers"]
    assert "no key" in first["error"]
    assert second["answer"] == "Yes."
    assert third["error"] == "Unexpected ValueError."


async def test_sub_task_cannot_ask_again_write_or_ask_a_person(root: Path) -> None:
    tried = (
        ("ask_code", '{"questions": ["Sub B"]}'),
        ("create_file", '{"path": "new.txt", "content": "x"}'),
        ("read_file", '{"path": ".env"}'),
    )

    def reply(request: ChatRequest) -> Say:
        if question_of(request) == "Main question":
            return asking("Sub A") if not answered(request) else Say("Done.")
        return Say(calls=calls(*tried)) if not answered(request) else Say("It was refused.")

    async with assistant(root, reply) as (opened, events):
        with opened.app.approvals.allow_questions():
            assert (await run(opened)).text == "Done."
    failed = [each.error.kind.value for each in events if isinstance(each, ToolCallFailed)]
    assert sorted(failed) == ["denied", "unknown_tool", "unknown_tool"]
    assert not [each for each in events if isinstance(each, ApprovalRequested)]
    assert len([each for each in events if isinstance(each, SessionStarted)]) == 2
    assert not (root / "new.txt").exists()


async def test_limits_of_a_question_and_of_the_whole_end_the_work(root: Path) -> None:
    def reply(request: ChatRequest) -> Say:
        if question_of(request) == "Main question":
            return asking("Sub A", "Sub B")
        number = len(answered(request))
        return Say(calls=calls(("grep", json.dumps({"pattern": f"x{number}"}))))

    limits = {"limits": {"tokens": 100}, "sub_tasks": {"max_concurrent": 1}}
    async with assistant(root, reply, **limits) as (opened, events):
        outcome = await run(opened)
    assert outcome.stop_reason is StopReason.TOKEN_LIMIT
    ended = [each for each in events if isinstance(each, SessionFinished)]
    assert [each.stop_reason for each in ended] == [StopReason.TOKEN_LIMIT] * 3
    assert len(opened.model.requests) <= 9  # type: ignore[attr-defined]  # a fake model


async def test_cancelled_parent_cancels_all_sub_tasks(root: Path) -> None:
    waiting = asyncio.Event()

    class Hanging(Scripted):
        async def complete(self, request: ChatRequest, observer: Any) -> Any:
            if question_of(request).startswith("Sub"):
                waiting.set()
                await asyncio.Event().wait()
            return await super().complete(request, observer)

    async with assistant(root, lambda _: asking("Sub A", "Sub B")) as (opened, events):
        opened.model = Hanging(lambda _: asking("Sub A", "Sub B"))
        running = asyncio.create_task(run(opened))
        await waiting.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    started = [each for each in events if isinstance(each, SessionStarted)]
    cancelled = {each.request_id for each in events if isinstance(each, SessionCancelled)}
    assert {each.request_id for each in started} == cancelled


def test_citations_are_compared_with_the_received_lines() -> None:
    sources = [SourceRange("src/a.py", 1, 10), SourceRange("src/a.py", 11, 20)]
    text = "See src/a.py:5-15, ./src/a.py:1 and src/a.py:19-21, b.py:1. At 10:30, x:1."
    verified, unverified = checked_citations(text, sources)
    assert verified == ["src/a.py:5-15", "./src/a.py:1"]
    assert unverified == ["src/a.py:19-21", "b.py:1"]
