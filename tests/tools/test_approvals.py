import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.clock import FakeClock, settle
from tests.tools.samples import Change, NoArguments, SessionCaller, Touch
from treadle.app.stores import Stores
from treadle.config.model import ApprovalSettings
from treadle.errors import StoreError
from treadle.events import Event, EventBus, Outcome
from treadle.events.types import (
    ApprovalRequested,
    ApprovalResolved,
    ApprovalScope,
    CallKey,
    Effect,
    ErrorKind,
    Mode,
    Notice,
    ToolCallCompleted,
    ToolCallFailed,
    ToolFailure,
)
from treadle.private_files import why_private
from treadle.tools.approvals.gate import Approvals
from treadle.tools.approvals.grants import Grant, GrantStore
from treadle.tools.approvals.question import Policy, Question, Subject
from treadle.tools.approvals.rules import ResolvedSubject, Rules
from treadle.tools.contract import (
    AnyTool,
    Registry,
    Result,
    Tool,
    ToolContext,
    ToolEffect,
    ToolError,
)
from treadle.tools.executor import ToolExecutor

SESSION, OTHER_SESSION = UUID(int=1), UUID(int=2)


class Propose(Tool[NoArguments, Result]):
    """Proposes a change while it runs, as the edit tools do."""

    name = "propose"
    description = "Proposes."
    effect = ToolEffect.WRITE
    proposes = True
    arguments = NoArguments
    result = Result

    def subjects(self, arguments: NoArguments) -> tuple[Subject, ...]:
        return (Subject(path="a.py"), Subject(path="b.py"))

    async def run(self, arguments: NoArguments, context: ToolContext) -> Result:
        subjects = (Subject(path="a.py"), Subject(path="b.py"))
        question = Question(subjects, Policy.ASK, "change a.py and b.py", UUID(int=9), "-old\n+new")
        decision = await context.approve(question)
        if not decision.allowed:
            raise ToolError.of(decision.failure(question.summary))
        return Result(type=str(decision.scope))


@dataclass(slots=True)
class Gate:
    """An executor with approvals, and the person who is asked."""

    bus: EventBus
    approvals: Approvals
    clock: FakeClock
    events: list[Event]
    executor: ToolExecutor
    registry: Registry

    def caller(self, session_id: UUID = SESSION) -> SessionCaller:
        return SessionCaller(self.executor, self.registry, session_id=session_id)

    async def question(self) -> ApprovalRequested:
        for _ in range(2_000):
            if self.approvals.pending():
                return self.approvals.pending()[0]
            await asyncio.sleep(0.001)
        raise AssertionError("nobody was asked")

    async def call(
        self, tool: str = "change", session_id: UUID = SESSION, **arguments: Any
    ) -> Outcome:
        return await self.caller(session_id).call(tool, json.dumps(arguments))

    async def answered(
        self, scope: ApprovalScope, words: str | None = None, tool: str = "change", **more: Any
    ) -> Outcome:
        """The outcome of a call for which the person answers a question."""
        calling = asyncio.ensure_future(self.call(tool, **more))
        assert self.approvals.answer((await self.question()).approval_id, scope, words)
        return await calling

    def seen(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


@asynccontextmanager
async def gate(
    root: Path, *tools: AnyTool, store: GrantStore | None = None, **rules: Any
) -> AsyncIterator[Gate]:
    before, clock, events = asyncio.all_tasks(), FakeClock(), list[Event]()
    bus = EventBus(clock)
    approvals = Approvals(bus, root, ApprovalSettings(**rules), store=store, clock=clock)

    async def record() -> None:
        async for envelope in subscription:
            events.append(envelope.event)

    with bus.subscribe() as subscription:
        recorder = asyncio.create_task(record())
        registry = Registry(tools or (Touch(), Change(), Propose()))
        serving = ToolExecutor(bus, registry, root, clock=clock, approvals=approvals)
        async with serving:
            yield Gate(bus, approvals, clock, events, serving, registry)
    await recorder
    assert asyncio.all_tasks() == before


def denied(outcome: Outcome) -> ToolFailure:
    assert isinstance(outcome, ToolCallFailed), outcome
    assert (outcome.error.kind, outcome.error.effect) == (ErrorKind.DENIED, Effect.NONE)
    return outcome.error


def done(outcome: Outcome) -> str:
    assert isinstance(outcome, ToolCallCompleted), outcome
    return str(json.loads(outcome.content)["type"])


async def test_reading_tools_run_and_writing_tools_ask(root: Path) -> None:
    async with gate(root) as at:
        done(await at.call("touch", paths=["a"]))
        failure = denied(await at.call("change", paths=["a"]))
        assert failure.message == (
            "Not allowed: change a. The tool can change data, and no rule allows it. "
            "No person can be asked here."
        )
        with at.approvals.allow_questions():
            calling = asyncio.ensure_future(at.call("change", paths=["a"]))
            asked = await at.question()
            assert (asked.name, asked.summary, asked.subjects) == ("change", "change a", ("a",))
            assert asked.reason == "The tool can change data, and no rule allows it."
            await at.clock.advance(100)
            assert at.approvals.answer(asked.approval_id, ApprovalScope.ONCE)
            outcome = await calling
        done(outcome)
        assert outcome.duration == 0  # the wait for the person is not the tool's time
        await settle()
        (resolved,) = at.seen(ApprovalResolved)
        assert (resolved.scope, resolved.duration) == (ApprovalScope.ONCE, 100)
        assert (
            resolved.approval_id == asked.approval_id == at.seen(ApprovalRequested)[0].approval_id
        )
        assert not at.approvals.answer(asked.approval_id, ApprovalScope.ONCE)


async def test_a_denial_passes_the_words_of_the_person_to_the_model(root: Path) -> None:
    async with gate(root) as at:
        with at.approvals.allow_questions():
            outcome = await at.answered(ApprovalScope.DENIED, " use the other file ", paths=["a"])
            assert denied(outcome).message == (
                "The person denied it: change a, and said: use the other file"
            )
            bare = await at.answered(ApprovalScope.DENIED, "  ", command="make")
            assert denied(bare).message == "The person denied it: change make."
        await settle()
        words = [event.words for event in at.seen(ApprovalResolved)]
        assert words == ["use the other file", None]


async def test_an_answer_is_valid_for_its_scope(root: Path, both_stores: Stores) -> None:
    store = GrantStore(both_stores.approvals)
    async with gate(root, store=store) as at:
        with at.approvals.allow_questions():
            done(await at.answered(ApprovalScope.ONCE, paths=["a"]))
            done(await at.answered(ApprovalScope.SESSION, paths=["a"]))
            done(await at.call(paths=["./x/../a"]))
            done(await at.answered(ApprovalScope.ONCE, paths=["b"]))  # another file
            done(await at.answered(ApprovalScope.ALWAYS, session_id=OTHER_SESSION, paths=["a"]))
        done(await at.call(session_id=UUID(int=3), paths=["a"]))
        denied(await at.call(session_id=UUID(int=3), paths=["a", "b"]))
    async with gate(root, store=store) as at:  # another process
        done(await at.call(paths=["a"]))
        denied(await at.call(paths=["b"]))
        denied(await at.call("touch", paths=[".env"]))
    (kept,) = store.list_grants(root)
    assert kept.grant == Grant("change", "a")
    assert store.list_grants(root / "elsewhere") == []
    assert store.revoke(root / "elsewhere") == 0
    assert store.revoke(root, kept.number + 1) == 0
    assert store.revoke(root, kept.number) == 1
    async with gate(root, store=store) as at:
        denied(await at.call(paths=["a"]))


async def test_an_answer_for_the_session_covers_the_same_question_of_other_calls(
    root: Path,
) -> None:
    async with gate(root) as at:
        with at.approvals.allow_questions():
            calling = [asyncio.ensure_future(at.call(command="make")) for _ in range(3)]
            calling.append(asyncio.ensure_future(at.call(command="other")))
            await settle(200)
            first, *_, last = at.approvals.pending()
            assert at.approvals.answer(first.approval_id, ApprovalScope.SESSION)
            for outcome in await asyncio.gather(*calling[:3]):
                done(outcome)
            assert [each.subjects for each in at.approvals.pending()] == [("other",)]
            at.approvals.answer(last.approval_id, ApprovalScope.DENIED)
            denied(await calling[3])


async def test_a_question_is_withdrawn_with_its_call_and_with_the_last_front_end(
    root: Path,
) -> None:
    async with gate(root) as at:
        with at.approvals.allow_questions():
            caller = at.caller()
            _ = await caller.start("change", '{"command": "a"}')
            await at.question()
            ended = ToolFailure(ErrorKind.CANCELLED, "Over.")
            await at.bus.publish(
                ToolCallFailed(
                    request_id=caller.request_id, key=CallKey(0, 0), call_id="", error=ended,
                    duration=1,
                )
            )  # fmt: skip
            await settle()
            assert at.approvals.pending() == ()
            left = asyncio.ensure_future(at.call(command="b"))
            await at.question()
        assert "No person can be asked here." in denied(await left).message
        await settle()
        scopes = [event.scope for event in at.seen(ApprovalResolved)]
        assert scopes == [ApprovalScope.WITHDRAWN] * 2


async def test_rules_refuse_ask_and_allow_by_tool_path_and_command(root: Path) -> None:
    rules: dict[str, Any] = {
        "deny": ("* path=secrets/", "change command=rm *"),
        "ask": ("touch path=*.lock",),
        "allow": ("change path=docs/**", "change command=pytest *", "* path=secrets/**"),
    }
    async with gate(root, **rules) as at:
        for fine in ({"paths": ["docs/a/b.md"]}, {"command": "pytest -q"}):
            done(await at.call("change", **fine))
        for refused in ("secrets/a", "x/secrets/a", "docs/../secrets/a", str(root / "secrets/a")):
            failure = denied(await at.call("touch", paths=["docs/a", refused]))
            assert "The rule `* path=secrets/` refuses it." in failure.message
        assert "rule `change command=rm *`" in denied(await at.call(command="rm -r .")).message
        assert "rule `touch path=*.lock` requires approval" in denied(
            await at.call("touch", paths=["a/uv.lock"])
        ).message  # fmt: skip
        denied(await at.call("change", paths=["src/a.py"]))
        denied(await at.call("change", paths=["docs/a.md"], command="make"))
        with at.approvals.allow_questions():  # a person cannot allow what a rule refuses
            denied(await at.call("change", paths=["secrets/a"]))
    assert not at.seen(ApprovalRequested)


@pytest.mark.parametrize(
    "name", [".env", "a/server.pem", ".git/config", "link", "sub/link2/config"]
)
async def test_secrets_need_explicit_consent_even_behind_links(root: Path, name: str) -> None:
    (root / "sub").mkdir()
    (root / ".git").mkdir()
    (root / "link").symlink_to(".env")
    (root / "sub" / "link2").symlink_to("../.git")
    broad = ("*", "touch", "* path=**", "* path=sub/**", "touch path=link")
    async with gate(root, allow=broad) as at:
        assert "It needs consent: " in denied(await at.call("touch", paths=[name])).message
        with at.approvals.allow_questions():
            outcome = await at.answered(ApprovalScope.ONCE, tool="touch", paths=[name, "a.py"])
            assert done(outcome) == {"link": ".env", "sub/link2/config": "config"}.get(
                name, Path(name).name
            )
    named = ("touch path=.env", "touch path=*.pem", "touch path=.git/**")
    async with gate(root, allow=named) as at:
        done(await at.call("touch", paths=[name]))
        denied(await at.call("touch", paths=["id_rsa"]))


async def test_a_path_outside_the_root_is_refused_before_anybody_is_asked(root: Path) -> None:
    async with gate(root) as at:
        with at.approvals.allow_questions():
            outcome = await at.call("change", paths=["../a"])
    assert isinstance(outcome, ToolCallFailed)
    assert outcome.error.kind is ErrorKind.PERMISSION


async def test_a_running_tool_asks_for_approval_of_its_proposal(root: Path) -> None:
    async with gate(root) as at:
        assert "Not allowed: change a.py and b.py." in denied(await at.call("propose")).message
        with at.approvals.allow_questions():
            calling = asyncio.ensure_future(at.call("propose"))
            asked = await at.question()
            assert (asked.proposal_id, asked.preview) == (UUID(int=9), "-old\n+new")
            assert asked.subjects == ("a.py", "b.py")
            at.approvals.answer(asked.approval_id, ApprovalScope.SESSION)
            assert done(await calling) == "session"
            assert done(await at.call("propose")) == "None"
            no = await at.answered(
                ApprovalScope.DENIED, "too big", tool="propose", session_id=OTHER_SESSION
            )
            assert "said: too big" in denied(no).message


async def test_a_proposing_tool_needs_one_question_with_its_preview(root: Path) -> None:
    async with gate(root, Propose(), ask=["propose"]) as at:
        with at.approvals.allow_questions():
            calling = asyncio.ensure_future(at.call("propose"))
            assert (await at.question()).preview == "-old\n+new"
            at.approvals.answer((await at.question()).approval_id, ApprovalScope.ONCE)
            assert done(await calling) == "once"
        await settle()
        assert len(at.seen(ApprovalRequested)) == 1
    async with gate(root, Propose(), deny=["propose path=b.py"]) as at:
        assert "refuses it" in denied(await at.call("propose")).message
    async with gate(root, Propose(), allow=["propose"]) as at:
        assert done(await at.call("propose")) == "None"


async def test_a_command_with_its_paths_needs_one_permission(root: Path) -> None:
    subjects = (Subject(command="pytest a"), Subject(path="a", command="pytest a"))
    question = Question(subjects, Policy.ASK, "run pytest a", effect="It runs code.")
    async with gate(root) as at:
        with at.approvals.allow_questions():
            context = ToolContext(UUID(int=3), CallKey(0, 0), tool="change")
            asking = asyncio.ensure_future(at.approvals.decide(question, context))
            asked = await at.question()
            required = at.approvals.required(asked.approval_id)
            assert required is not None
            assert [str(grant) for grant in required.grants] == ["change pytest a"]
            assert asked.reason == "It runs code."
            at.approvals.answer(asked.approval_id, ApprovalScope.SESSION)
            assert (await asking).allowed
        assert (await at.approvals.decide(question, context)).allowed


async def test_a_refusal_states_whether_a_person_could_be_asked(root: Path) -> None:
    context = ToolContext(UUID(int=3), CallKey(0, 0), tool="change")
    question = Question((Subject(path="a"),), Policy.ASK, "change a")
    async with gate(root) as at:
        assert (await at.approvals.decide(question, context)).unanswered
        with at.approvals.allow_questions():
            asking = asyncio.ensure_future(at.approvals.decide(question, context))
            asked = await at.question()
            at.approvals.answer(asked.approval_id, ApprovalScope.ONCE, "with care")
            decision = await asking
        assert (decision.allowed, decision.words, decision.unanswered) == (
            True, "with care", False,
        )  # fmt: skip


async def test_calls_outside_a_session_need_approval_too(root: Path) -> None:
    async with gate(root) as at:
        denied(await at.executor.call("change", "{}"))
        with at.approvals.allow_questions():
            calling = asyncio.ensure_future(at.executor.call("change", '{"command": "make"}'))
            at.approvals.answer((await at.question()).approval_id, ApprovalScope.SESSION)
            done(await calling)
        denied(await at.executor.call("change", '{"command": "make"}'))


async def test_an_answer_that_cannot_be_stored_is_valid_for_the_session(
    root: Path, tmp_path: Path
) -> None:
    (tmp_path / "data").write_text("no folder")
    store = GrantStore(tmp_path / "data" / "approvals.db")
    async with gate(root, store=store) as at:
        with at.approvals.allow_questions():
            done(await at.answered(ApprovalScope.ALWAYS, paths=["a"]))
            done(await at.call(paths=["a"]))
        await settle()
        assert [n.text.partition(":")[0] for n in at.seen(Notice)] == [
            "Allowed for this conversation only"
        ]
    with pytest.raises(StoreError, match=r"The data folder .* cannot be used"):
        store.remember(root, [Grant("change")], 0)
    with pytest.raises(StoreError, match="The approvals in"):
        GrantStore(tmp_path / "a.db").remember(root, [Grant("change", "\udcff")], 0)


def test_grants_are_kept_and_revoked(both_stores: Stores, tmp_path: Path) -> None:
    address = both_stores.approvals
    store = GrantStore(address)
    assert store.list_grants(tmp_path) == []
    assert not isinstance(address, Path) or not address.exists()
    for at_us in (5, 6):
        store.remember(tmp_path, [Grant("a", "p"), Grant("a", "", "c")], at_us)
    assert not isinstance(address, Path) or address.stat().st_mode & 0o777 == 0o600
    assert [(str(each.grant), each.granted_us) for each in store.list_grants(tmp_path)] == [
        ("a p", 5), ("a c", 5)
    ]  # fmt: skip
    assert store.revoke(tmp_path) == 2


names = st.sampled_from(["a", "secrets", ".env", ".git", "x.pem", "b.py", "docs"])
paths = st.lists(names, min_size=1, max_size=3).map("/".join)
patterns = st.sampled_from(["*", "**", "secrets/", "*.py", ".env", "docs/**", "/a", "a/*", ".git/"])
rule_lists = st.lists(patterns, max_size=3)


@given(paths, rule_lists, rule_lists, rule_lists, rule_lists)
def test_more_deny_and_ask_rules_never_allow_more(
    path: str, deny: list[str], ask: list[str], allow: list[str], more: list[str]
) -> None:
    def policy(*lists: list[str]) -> Policy:
        rules = [tuple(f"t path={each}" for each in patterns) for patterns in lists]
        chosen = ApprovalSettings(deny=rules[0], ask=rules[1], allow=rules[2])
        place = ResolvedSubject(Subject(path=path), (path,))
        return Rules(chosen).verdict("t", place, Policy.ALLOW).policy

    order = [Policy.ALLOW, Policy.ASK, Policy.DENY]
    before = order.index(policy(deny, ask, allow))
    assert order.index(policy([*deny, *more], ask, allow)) >= before
    assert order.index(policy(deny, [*ask, *more], allow)) >= before
    if why_private(path) and not any(map(why_private, allow)):
        assert before > 0


async def test_mode_that_changes_while_a_person_is_asked_refuses_the_call(root: Path) -> None:
    present = Mode.NORMAL

    async def mode() -> Mode:
        return present

    question = Question((Subject(path="a"),), Policy.ASK, "change a")
    context = ToolContext(
        UUID(int=3), CallKey(0, 0), tool="change", effect=ToolEffect.WRITE, mode=mode
    )
    async with gate(root) as at:
        with at.approvals.allow_questions():
            asking = asyncio.ensure_future(at.approvals.decide(question, context))
            asked = await at.question()
            present = Mode.READ_ONLY
            at.approvals.answer(asked.approval_id, ApprovalScope.ALWAYS)
            decision = await asking
            assert (decision.allowed, decision.read_only) == (False, True)
            assert (await at.approvals.decide(question, context)).read_only
            assert not at.approvals.pending()
            present = Mode.NORMAL
            assert (await at.approvals.decide(question, context)).allowed
