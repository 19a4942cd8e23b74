"""The plan of a conversation: its steps, its place in prompts, and its life over turns."""

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.model import FakeModel, Say, calls
from tests.session.parts import Echo, conversation, results, stage
from treadle.events.types import (
    CallKey,
    Mode,
    PlanChanged,
    PlanStep,
    StepState,
    ToolCallRequested,
)
from treadle.ids import new_id
from treadle.llm.messages import (
    AssistantMessage,
    ChatRequest,
    NoteMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from treadle.session import Conversation, ConversationStore
from treadle.session.plan import MAX_STEPS, PLAN_TOKENS, Plan, plan_note, plan_of
from treadle.session.state_notes import state_notes
from treadle.tokens import estimate
from treadle.toolbox.plan.update_plan import UpdatePlan
from treadle.tools.executor import Caller


def sent(*steps: tuple[str, str, str]) -> tuple[tuple[str, str], ...]:
    listed = [{"id": name, "text": text, "state": state} for name, text, state in steps]
    return calls(("update_plan", json.dumps({"steps": listed})))


FIRST = sent(("1", "Read the parser", "doing"), ("2", "Fix it", "open"))
SECOND = sent(("1", "Read the parser", "done"), ("2", "Fix it", "doing"))


def notes(request: ChatRequest) -> list[str]:
    return [each.text for each in request.messages if isinstance(each, NoteMessage)]


async def test_plan_is_in_each_request_and_each_change_is_an_event() -> None:
    async with stage(UpdatePlan(), Echo()) as at:
        model = FakeModel(
            Say(calls=FIRST), Say(calls=calls("echo")), Say(calls=SECOND), Say(calls=SECOND),
            Say("Done."),
        )  # fmt: skip
        await at.session(model).run("Fix it")
        assert not notes(model.requests[0])
        for request in model.requests[1:3]:
            (note,) = notes(request)
            assert "1 doing: Read the parser\n2 open: Fix it" in note
            assert "<recorded-" in note
        assert "1 done: Read the parser\n2 doing: Fix it" in notes(model.requests[4])[0]
        states = [[step.state for step in event.steps] for event in at.seen(PlanChanged)]
        assert states == [[StepState.DOING, StepState.OPEN], [StepState.DONE, StepState.DOING]]
        again = FakeModel(Say("Hello."))
        await at.session(again).run("And now?")
        assert "from before the newest message" in notes(again.requests[0])[0]
        assert not [m for m in at.conversation.messages if isinstance(m, NoteMessage)]


async def test_plan_survives_a_history_that_is_shortened() -> None:
    async with stage(UpdatePlan(), Echo()) as at:
        words = json.dumps({"text": "word " * 400})
        replies = [Say(calls=calls(("echo", words))) for _ in range(8)]
        model = FakeModel(Say(calls=FIRST), *replies, Say("End."), context_window=3_000)
        await at.session(model).run("Fix it")
        last = model.requests[-1]
        assert not any(
            call.name == "update_plan"
            for message in last.messages
            if isinstance(message, AssistantMessage)
            for call in message.calls
        )
        assert "1 doing: Read the parser\n2 open: Fix it" in notes(last)[0]


async def test_invalid_plans_are_refused_and_the_earlier_plan_stays() -> None:
    invalid = (
        sent(("1", "a", "open"), ("1", "b", "open")),
        sent(("one two", "a", "open")),
        sent(("1", "a", "finished")),
        sent(("1", "", "open")),
        sent(*((str(n), "a", "open") for n in range(MAX_STEPS + 1))),
    )
    async with stage(UpdatePlan()) as at:
        for each in invalid:
            model = FakeModel(Say(calls=FIRST), Say(calls=each), Say("Done."))
            await at.session(model).run("Fix it")
            assert "2 open: Fix it" in notes(model.requests[2])[0]
        assert sum('"kind":"validation"' in text for text in results(at.conversation.messages)) == 5


async def test_plan_of_a_saved_conversation_belongs_to_its_branch(tmp_path: Path) -> None:
    async with await ConversationStore.open(tmp_path / "c.db") as store, stage(UpdatePlan()) as at:
        mine = await store.create(Path("/repo"), "m")
        model = FakeModel(Say(calls=FIRST), Say("One."), Say(calls=SECOND), Say("Two."))
        for text in ("Begin", "Go on"):
            await at.session(model, store=store, conversation=mine).run(text)
        loaded = await store.load(str(mine.id), root=Path("/repo"))
        plan = plan_of(loaded.entries)
        assert plan is not None
        assert [step.state for step in plan.steps] == [StepState.DONE, StepState.DOING]
        earlier = await store.load(str(mine.id), root=Path("/repo"), at=3)
        plan = plan_of(earlier.entries)
        assert plan is not None
        assert [step.state for step in plan.steps] == [StepState.DOING, StepState.OPEN]


def test_finished_plan_of_an_earlier_turn_is_not_sent() -> None:
    done = (PlanStep("1", "a", StepState.DONE), PlanStep("2", "b", StepState.DROPPED))
    assert plan_note(Plan(done)) is not None
    assert plan_note(Plan(done, is_earlier=True)) is None
    assert plan_note(None) is None


def test_call_without_a_successful_result_makes_no_plan() -> None:
    mine = conversation()
    mine.add(UserMessage("Go"), 0)
    (arguments,) = [each for _, each in FIRST]
    call = ToolCall(CallKey(0, 0), "c", "update_plan", arguments, "v")
    mine.add(AssistantMessage(calls=(call,)), 0)
    assert plan_of(mine.entries) is None
    mine.add(ToolMessage(call.key, "{}", ok=False), 0)
    assert plan_of(mine.entries) is None
    assert state_notes(Mode.NORMAL, mine.entries) == ()


@given(
    st.lists(
        st.tuples(st.text(min_size=1, max_size=200), st.sampled_from(StepState)),
        min_size=1, max_size=MAX_STEPS,
    )
)  # fmt: skip
def test_note_has_every_step_within_its_budget(rows: list[tuple[str, StepState]]) -> None:
    arguments = json.dumps(
        {"steps": [{"id": str(n), "text": t, "state": s} for n, (t, s) in enumerate(rows)]}
    )
    mine: Conversation = conversation()
    call = ToolCall(CallKey(0, 0), "c", "update_plan", arguments, "v")
    mine.add(AssistantMessage(calls=(call,)), 0)
    mine.add(ToolMessage(call.key, "{}"), 0)
    plan = plan_of(mine.entries)
    assert plan is not None
    note = plan_note(plan)
    assert note is not None
    lines = note.text.split("\n")
    for number, (_, state) in enumerate(rows):
        assert any(line.startswith(f"{number} {state}: ") for line in lines)
    if all(text.isascii() for text, _ in rows):
        assert estimate(note.text) <= PLAN_TOKENS


async def test_plan_outside_a_conversation_is_only_checked() -> None:
    async with stage(UpdatePlan()) as at:
        ((name, arguments),) = FIRST
        request = ToolCallRequested(
            request_id=new_id(), key=CallKey(0, 0), call_id="c", vendor="v", name=name,
            arguments=arguments,
        )  # fmt: skip
        call = at.executor.open(request, Caller(at.registry))
        await at.executor.start(call)
        assert type(await call.outcome).__name__ == "ToolCallCompleted"
        assert not at.seen(PlanChanged)
