"""Messages that wait until the repository and the model are ready."""

from uuid import uuid4

from tests.fakes.clock import FakeClock
from treadle.events.types import SessionStarted
from treadle.tui.conversation.items import PromptItem, PromptState
from treadle.tui.conversation.transcript_state import TranscriptState


def test_pending_message_is_shown_once_and_becomes_the_turn() -> None:
    state = TranscriptState(FakeClock())
    prompt = state.add_pending("What is this?")
    state.explain_pending("indexing the repository: 10 of 20 files")
    assert state.items == [prompt]
    assert prompt.waits_for == "indexing the repository: 10 of 20 files"
    request_id = uuid4()
    state.conversation_id = uuid4()
    started = SessionStarted(
        request_id=request_id, session_id=state.conversation_id, user_text="What is this?",
        model="m", provider="p", tools=(),
    )  # fmt: skip
    assert state.apply(started)
    assert state.add_prompt(request_id, "What is this?") is prompt
    assert state.items == [prompt]
    assert prompt.state is PromptState.SENT


def test_message_that_could_not_be_sent_is_hidden() -> None:
    state = TranscriptState(FakeClock())
    first, second = state.add_pending("one"), state.add_pending("two")
    state.remove_pending(first)
    assert [item.text for item in state.items if isinstance(item, PromptItem)] == ["", "two"]
    assert state.add_prompt(uuid4(), "two") is second
