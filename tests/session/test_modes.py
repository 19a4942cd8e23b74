"""A session in the mode `read_only`: its prompt, its refusals, and a mode that changes."""

from tests.fakes.model import FakeModel, Say, calls
from tests.session.parts import Echo, SlowWrite, results, stage
from treadle.events.types import Mode, StopReason
from treadle.llm.messages import NoteMessage
from treadle.session import RequestSession


class Modes:
    """A mode that a test changes."""

    def __init__(self, mode: Mode) -> None:
        self.mode = mode

    async def __call__(self) -> Mode:
        return self.mode


def notes(messages: object) -> list[str]:
    assert isinstance(messages, tuple)
    return [each.text for each in messages if isinstance(each, NoteMessage)]


async def test_third_reply_with_a_refused_call_ends_the_turn_with_an_answer() -> None:
    async with stage(SlowWrite(), Echo()) as at:
        writes = [Say(calls=calls(("slow_write", f'{{"text": "{n}"}}'))) for n in range(3)]
        model = FakeModel(*writes, Say("I would change a.py."))
        session = RequestSession(
            executor=at.executor, model=model, registry=at.registry,
            conversation=at.conversation, clock=at.clock, mode=Modes(Mode.READ_ONLY),
        )  # fmt: skip
        outcome = await session.run("Change it")
        assert outcome.text == "I would change a.py."
        assert outcome.stop_reason is StopReason.REPEATED_CALLS
        assert [len(request.tools) for request in model.requests] == [2, 2, 2, 0]
        for request in model.requests:
            assert "mode read_only" in notes(request.messages)[0]
        assert all("mode read_only" in text for text in results(at.conversation.messages))
        assert not notes(at.conversation.messages)


async def test_mode_that_changes_between_two_calls_acts_at_once() -> None:
    modes = Modes(Mode.READ_ONLY)
    tool = SlowWrite()
    tool.open("a")
    async with stage(tool) as at:

        def leave(_request: object) -> Say:
            modes.mode = Mode.NORMAL
            return Say(calls=calls(("slow_write", '{"text": "a"}')))

        model = FakeModel(Say(calls=calls(("slow_write", '{"text": "a"}'))), leave, Say("Done."))
        session = RequestSession(
            executor=at.executor, model=model, registry=at.registry,
            conversation=at.conversation, clock=at.clock, mode=modes,
        )  # fmt: skip
        assert (await session.run("Change it")).text == "Done."
        refused, done = results(at.conversation.messages)
        assert "mode read_only" in refused
        assert '"text":"a"' in done
        assert [len(notes(request.messages)) for request in model.requests] == [1, 1, 0]
