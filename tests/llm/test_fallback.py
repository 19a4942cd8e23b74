"""The next model answers when one fails for good, with a prompt that was built for it."""

from collections.abc import Awaitable, Callable

import pytest

from tests.fakes.model import FakeModel, Say
from tests.session.parts import stage
from treadle.errors import ConfigError
from treadle.events.types import FallbackApplied, ModelRequestStarted, Notice, PromptConstructed
from treadle.llm.chat_model import ChatModel
from treadle.llm.messages import AssistantMessage, UserMessage
from treadle.llm.model_selection import FallbackModel
from treadle.llm.provider_errors import FaultKind, ProviderError

DOWN = ProviderError("It is down.", kind=FaultKind.SERVER, status=503)


def connecting(**models: ChatModel | Exception) -> Callable[[str], Awaitable[ChatModel]]:
    async def connect(name: str) -> ChatModel:
        model = models[name]
        if isinstance(model, Exception):
            raise model
        return model

    return connect


async def test_the_next_model_answers_and_stays() -> None:
    first, second = FakeModel(DOWN), FakeModel(Say("Here."), Say("Again."), context_window=9_000)
    model = FallbackModel(first, ["b"], connecting(b=second))
    async with stage() as at:
        assert (await at.session(model).run("Go")).text == "Here."
        assert (await at.session(model).run("Go on")).text == "Again."
        (applied,) = at.seen(FallbackApplied)
        assert (applied.reason, applied.change) == ("It is down.", "asking b instead")
        budgets = [event.budget_tokens for event in at.seen(PromptConstructed)]
        assert budgets == [95_904, 6_750, 6_750]
        assert len(at.seen(ModelRequestStarted)) == 3
        replies = [m for m in at.conversation.messages if isinstance(m, AssistantMessage)]
        assert [reply.text for reply in replies] == ["Here.", "Again."]


async def test_an_unavailable_fallback_is_skipped_with_a_notice() -> None:
    missing = ConfigError("b needs a key.")
    model = FallbackModel(
        FakeModel(DOWN), ["b", "c"], connecting(b=missing, c=FakeModel(Say("Here.")))
    )
    async with stage() as at:
        assert (await at.session(model).run("Go")).text == "Here."
        assert "The fallback b is skipped: b needs a key." in at.seen(Notice)[0].text


async def test_the_last_failure_ends_the_session() -> None:
    last = ProviderError("It is down too.", kind=FaultKind.SERVER)
    model = FallbackModel(FakeModel(DOWN), ["b"], connecting(b=FakeModel(last)))
    async with stage() as at:
        with pytest.raises(ProviderError, match="It is down too"):
            await at.session(model).run("Go")
        assert at.conversation.messages == (UserMessage("Go"),)
