"""The terminal's interface over HTTP, against a real server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.fakes.provider import FakeProvider, Reply
from tests.fakes.replies import Answer, Call
from tests.server.serving import Served, serving
from treadle.app.choices import Choices
from treadle.app.code_exploration import Relation
from treadle.app.context_choices import ChoicesChange
from treadle.errors import TreadleError, UsageError
from treadle.events import Event
from treadle.events import types as ev
from treadle.session.attachments import CodeAttachment, TextAttachment
from treadle.session.rewinds import RewindScope
from treadle.spans.span import SpanKind
from treadle.tui.remote_workbench import RemoteWorkbench
from treadle.tui.server_client import ServerLostError, server_address
from treadle.tui.workbench import ConnectionChanged, Missed, Workbench

_CREATE = Call("create_file", {"path": "notes.txt", "content": "one\n"}, id="c1")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "calc.py").write_text(
        "def add(left, right):\n    return left + right\n\n\ndef twice(x):\n    return add(x, x)\n"
    )
    return folder


class Follower:
    """Collects the events of a workbench."""

    def __init__(self, workbench: RemoteWorkbench) -> None:
        self.workbench = workbench
        self.received: list[Event | Missed | ConnectionChanged] = []
        self._arrived = asyncio.Condition()

    async def follow(self) -> None:
        async for event in self.workbench.events():
            async with self._arrived:
                self.received.append(event)
                self._arrived.notify_all()

    async def until(self, kind: type[Any], **values: object) -> Any:
        """The newest event of this type with these values, when it has come."""
        async with asyncio.timeout(60), self._arrived:
            while True:
                for event in reversed(self.received):
                    if isinstance(event, kind) and all(
                        getattr(event, name) == value for name, value in values.items()
                    ):
                        return event
                await self._arrived.wait()


@asynccontextmanager
async def attached(server: Served) -> AsyncIterator[Follower]:
    async with RemoteWorkbench.open(server.address, None) as workbench:
        follower = Follower(workbench)
        following = asyncio.create_task(follower.follow())
        try:
            yield follower
        finally:
            following.cancel()


@asynccontextmanager
async def served(repo: Path, *replies: Reply) -> AsyncIterator[Served]:
    async with (
        FakeProvider(replies) as provider,
        serving(repo, TREADLE_BASE_URL=provider.base_url, TREADLE_API_KEY="k") as server,
    ):
        yield server


def test_every_method_of_the_interface_has_a_remote_form() -> None:
    assert not RemoteWorkbench.__abstractmethods__
    assert Workbench.__abstractmethods__ <= set(vars(RemoteWorkbench))


async def test_two_terminals_see_the_same_turn(repo: Path) -> None:
    async with (
        served(repo, Answer("It **adds**.")) as server,
        attached(server) as one,
        attached(server) as other,
    ):
        assert one.workbench.root == str(repo)
        sent = await one.workbench.send("How?", conversation=None, choices=Choices())
        for follower in (one, other):
            finished = await follower.until(ev.SessionFinished)
            assert (finished.request_id, finished.text) == (sent.request_id, "It **adds**.")
            started = await follower.until(ev.SessionStarted)
            assert started.session_id == sent.conversation_id
        final = await other.workbench.final(sent.request_id)
        assert final is not None
        assert final.text == "It **adds**."
        (listed,) = await other.workbench.conversations()
        assert listed.id == sent.conversation_id
        session = await other.workbench.conversation("last")
        assert [message.role for message in session.messages] == ["user", "assistant"]
        assert session.messages[0].entry.request_id == sent.request_id


async def test_events_do_not_come_before_the_answer_to_their_message(repo: Path) -> None:
    async with served(repo, Answer("Yes.")) as server, attached(server) as terminal:
        workbench = terminal.workbench
        before: list[Any] = []
        post = workbench._server.post

        async def slow_post(path: str, body: Any = None, kind: Any = Any, /, **more: object) -> Any:
            answer = await post(path, body, kind, **more)
            await workbench.final(answer.request_id)  # all its events are published
            before.extend(terminal.received)
            return answer

        workbench._server.post = slow_post  # type: ignore[method-assign]
        sent = await workbench.send("Is it?", conversation=None, choices=Choices())
        assert not [each for each in before if isinstance(each, ev.SessionStarted)]
        assert (await terminal.until(ev.SessionFinished)).request_id == sent.request_id
        assert [each for each in terminal.received if isinstance(each, ev.SessionStarted)]


async def test_proposal_is_approved_by_the_other_terminal(repo: Path) -> None:
    async with (
        served(repo, Answer("", (_CREATE,)), Answer("Done.")) as server,
        attached(server) as one,
        attached(server) as other,
    ):
        await one.workbench.send("Write notes.", conversation=None, choices=Choices())
        question = await other.until(ev.ApprovalRequested)
        assert await one.workbench.pending_approvals() == [question]
        proposal = await other.workbench.proposal(question.proposal_id)
        assert [each.file.path for each in proposal.files] == ["notes.txt"]
        assert await other.workbench.answer(question.approval_id, ev.ApprovalScope.ONCE)
        assert (await one.until(ev.ApprovalResolved)).scope is ev.ApprovalScope.ONCE
        await one.until(ev.SessionFinished)
        (listed,) = await one.workbench.proposals()
        assert listed.proposal.state == "applied"
        assert not await one.workbench.answer(question.approval_id, ev.ApprovalScope.ONCE)
    assert (repo / "notes.txt").read_text() == "one\n"


async def test_proposals_permissions_and_checks_are_served(repo: Path) -> None:
    (repo / "Makefile").write_text("check:\n\t@echo it is fine\n")
    async with (
        served(repo, Answer("", (_CREATE,)), Answer("Done.")) as server,
        attached(server) as terminal,
    ):
        workbench = terminal.workbench
        await workbench.send("Write notes.", conversation=None, choices=Choices())
        question = await terminal.until(ev.ApprovalRequested)
        scopes = [each.scope for each in await workbench.choices(question.approval_id)]
        assert ev.ApprovalScope.ONCE in scopes
        proposal = question.proposal_id
        assert await workbench.proposed_content(proposal, "notes.txt") == b"one\n"
        await workbench.amend(proposal, "notes.txt", b"two\n")
        await workbench.answer(question.approval_id, ev.ApprovalScope.SESSION)
        finished = await terminal.until(ev.SessionFinished)
        assert (repo / "notes.txt").read_text() == "two\n"
        assert (await workbench.undo(proposal)).proposal.state == "undone"
        assert not (repo / "notes.txt").exists()
        assert (await workbench.redo(proposal)).proposal.state == "applied"
        (permission,) = await workbench.permissions(finished.session_id)
        await workbench.revoke(permission.id)
        assert await workbench.permissions(finished.session_id) == []
        (check,) = [each for each in await workbench.checks() if "make" in each.argv[0]]
        assert await workbench.program_to_allow(check) is None
        lines: list[str] = []
        run = await workbench.run_check(check, lines.append)
        assert run.status == "passed"
        assert "it is fine" in lines
        assert await workbench.branch() is None


async def test_code_traces_and_conversations_are_read(repo: Path) -> None:
    async with served(repo, Answer("It adds.")) as server, attached(server) as terminal:
        workbench = terminal.workbench
        found = await workbench.search("add")
        assert found.results[0].file == "calc.py"
        assert found.files == 1
        (completion,) = await workbench.complete("calc.p")
        assert completion.name == "calc.py"
        excerpt = await workbench.excerpt(ev.SourceRange("calc.py", 1, 2))
        assert excerpt.lines == ("def add(left, right):", "    return left + right")
        callers = await workbench.neighbours("calc.add", "calc.py", Relation.CALLERS)
        assert [item.name for item in callers.items] == ["twice"]
        sent = await workbench.send(
            "How?", conversation=None, choices=Choices(), attachments=(
                CodeAttachment("calc.py", 1, 2), TextAttachment("output", "fine"),
            ),
        )  # fmt: skip
        await terminal.until(ev.SessionFinished)
        conversation = sent.conversation_id
        view = await workbench.trace_view(sent.request_id.hex)
        assert view.rows
        span = await workbench.span(view.trace_id, str(view.rows[0].span_id))
        assert span.trace_id == sent.request_id.hex
        records = await workbench.turn_records(conversation)
        assert set(records) <= {sent.request_id}
        assert set(await workbench.conversation_costs([conversation])) <= {conversation}
        await workbench.rename_conversation(conversation, "Sums")
        assert (await workbench.conversation("last")).conversation.title == "Sums"
        assert (await workbench.branch_conversation(conversation, 0)).branch == [0]
        await workbench.delete_conversation(conversation)
        assert await workbench.conversations() == []
        assert await workbench.page_address() == server.address
        with pytest.raises(TreadleError, match="There is no"):
            await workbench.proposal(uuid4())


async def test_rewinds_plans_and_models_are_served(repo: Path) -> None:
    async with served(repo, Answer("It adds.")) as server, attached(server) as terminal:
        workbench = terminal.workbench
        sent = await workbench.send("How?", conversation=None, choices=Choices())
        await terminal.until(ev.SessionFinished)
        conversation = sent.conversation_id
        plan = await workbench.plan_context(conversation, "And?", choices=Choices())
        assert plan.window
        await workbench.change_context(
            conversation, ChoicesChange(pinned=(CodeAttachment("calc.py", 1, 2),))
        )
        trace = await workbench.trace(sent.request_id)
        asked = next(each for each in trace.spans if each.kind is SpanKind.MODEL)
        assert (await workbench.recorded_context(trace.trace_id, asked.span_id)).sections
        plan_of_rewind = await workbench.plan_rewind(conversation, 0, RewindScope.CONVERSATION)
        assert plan_of_rewind.messages == 2
        await workbench.rewind(conversation, 0, RewindScope.CONVERSATION, keep_changed=False)
        assert (await workbench.conversation(str(conversation))).branch == []
        await workbench.plan_undo_rewind(conversation)
        await workbench.undo_rewind(conversation, keep_changed=False)
        assert (await workbench.conversation(str(conversation))).branch == [0, 1]
        listed = [each for provider in (await workbench.models()).data for each in provider.models]
        assert "fake-model" in [model.id for model in listed]
        assert await workbench.first_start_advice() is None
        with pytest.raises(TreadleError, match="nobody"):
            await workbench.model_vendors("nobody", "model")
        assert (await workbench.save_model("custom/fake-model")).path


async def test_lost_connection_is_reported_and_made_again(repo: Path) -> None:
    async with served(repo, Answer("Yes.")) as server, attached(server) as terminal:
        socket = terminal.workbench._events._socket
        assert socket is not None
        await socket.close()
        assert (await terminal.until(ConnectionChanged)).address == server.address
        await terminal.until(ConnectionChanged, retry_in=None)
        await terminal.workbench.send("Is it?", conversation=None, choices=Choices())
        await terminal.until(ev.SessionFinished)


async def test_absent_server_and_wrong_token_are_errors(repo: Path) -> None:
    async with serving(repo, "--require-token") as server:
        with pytest.raises(UsageError, match="Set TREADLE_TOKEN"):
            async with RemoteWorkbench.open(server.address, None):
                pass
        async with RemoteWorkbench.open(server.address, server.token) as workbench:
            assert workbench.root == str(repo)
    with pytest.raises(ServerLostError, match="does not answer"):
        async with RemoteWorkbench.open(server.address, None):
            pass


@pytest.mark.parametrize("text", ["", "ftp://host", "http://", "http://a:b@host", "http://h:x"])
def test_text_without_an_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        server_address(text)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:7070", "http://127.0.0.1:7070"),
        ("http://localhost:7070/sessions?x#key=abc".partition("?")[0], "http://localhost:7070"),
    ],
)
def test_address_is_read_without_its_path(text: str, address: str) -> None:
    assert server_address(text) == address
