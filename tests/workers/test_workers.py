"""Calls that workers run, on a real NATS server: routing, delivery and the one outcome."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.engines import NatsServer, nats_server
from tests.workers.team import FAST, Team, clone, failure, git, team, tree_of, within
from tests.workers.tools import Writing
from treadle.config.model import ApprovalSettings, Settings, WorkerSettings
from treadle.events.types import (
    ApprovalRequested,
    ApprovalScope,
    CallKey,
    Effect,
    ErrorKind,
    ToolCallAssigned,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallLate,
    ToolFailure,
    ToolProgress,
)
from treadle.ids import new_id
from treadle.workers import call_queue
from treadle.workers.call_queue import CallQueue
from treadle.workers.messages import CallState, WorkerCall, encode


def assigned(at: Team) -> list[str]:
    return [event.worker for event in at.events if isinstance(event, ToolCallAssigned)]


def message(at: Team, tool: str = "reading", **changes: object) -> WorkerCall:
    """The message of a call whose server does not exist."""
    tree = tree_of(at.root)
    values: dict[str, object] = {
        "id": f"{new_id()}.0.0", "caller": "nobody", "repository": tree.repository,
        "commit": tree.commit, "tool": tool, "version": 1, "arguments": "{}",
        "request_id": new_id(), "key": CallKey(0, 0),
    }  # fmt: skip
    return WorkerCall(**{**values, **changes})  # type: ignore[arg-type]


async def test_worker_with_the_commit_runs_the_call(nats: NatsServer, tmp_path: Path) -> None:
    async with team(nats, tmp_path) as at:
        await at.worker("one", root=clone(at.root, tmp_path / "clone"))
        outcome = await within(await at.call("reading", text="a"))
        assert isinstance(outcome, ToolCallCompleted)
        assert json.loads(outcome.content)["text"] == "a"
        assert outcome.ui.summary == "noted a for a"
        await at.until(lambda: any(isinstance(each, ToolProgress) for each in at.events))
        assert assigned(at) == ["one"]


async def test_call_runs_here_without_a_worker(nats: NatsServer, tmp_path: Path) -> None:
    async with team(nats, tmp_path) as at:
        assert (await at.result("writing", text="a"))["text"] == "a"
        assert assigned(at) == []


async def test_call_that_needs_this_server_runs_here(nats: NatsServer, tmp_path: Path) -> None:
    async with team(nats, tmp_path) as at:
        await at.worker()
        await at.result("reading", text="local")
        assert assigned(at) == []


async def test_worker_at_another_commit_gets_no_calls(nats: NatsServer, tmp_path: Path) -> None:
    async with team(nats, tmp_path) as at:
        other = clone(at.root, tmp_path / "clone")
        git(at.root, "commit", "-q", "--allow-empty", "-m", "Two")
        worker = await at.worker(root=other)
        await at.result("reading", text="a")
        assert assigned(at) == []
        git(other, "pull", "-q")
        await at.offered(at.root)
        await at.result("reading", text="b")
        assert assigned(at) == [worker.name]


async def test_changed_work_tree_takes_only_calls_for_any_commit(
    nats: NatsServer, tmp_path: Path
) -> None:
    settings = WorkerSettings(any_commit=("writing",))
    async with team(nats, tmp_path, settings=settings) as at:
        await at.worker("one", root=clone(at.root, tmp_path / "clone"))
        (at.root / "file.txt").write_text("changed\n")
        await at.result("reading", text="a")
        assert assigned(at) == []
        await at.result("writing", text="b")
        assert assigned(at) == ["one"]


async def test_call_is_handed_back_if_the_commit_changed_meanwhile(
    nats: NatsServer, tmp_path: Path
) -> None:
    async with team(nats, tmp_path) as at:
        worker = await at.worker("stale", root=clone(at.root, tmp_path / "clone"))
        queue = CallQueue(at.connection, at.names, at.timing)
        await queue.open()
        git(tmp_path / "clone", "commit", "-q", "--allow-empty", "-m", "Two")
        call = message(at)
        await queue.publish(call)
        await at.until(lambda: worker.figures.handed_back)
        assert at.runs() == []


async def test_second_message_of_a_call_does_not_run_it_again(
    nats: NatsServer, tmp_path: Path
) -> None:
    async with team(nats, tmp_path) as at:
        worker = await at.worker()
        queue = CallQueue(at.connection, at.names, at.timing)
        await queue.open()
        future = await at.call("writing", text="once")
        await within(future)
        sent = message(
            at, "writing", id=f"{at.caller.request_id}.0.0", arguments='{"text":"again"}'
        )
        await queue.publish(sent)  # JetStream recognizes the id
        subject = at.names.subject("calls", sent.repository, sent.commit)
        await at.connection.jetstream.publish(subject, encode(sent))  # without the id
        await at.result("reading", text="last")
        assert len(at.runs()) == 2
        assert worker.figures.finished == 2


async def test_write_is_not_repeated_when_jetstream_forgets_its_delivery(
    nats: NatsServer, tmp_path: Path
) -> None:
    """After a crash of NATS, the same worker may get the same call as a first delivery again."""
    async with team(nats, tmp_path) as at:
        await at.worker()
        gate = tmp_path / "gate"
        future = await at.call("writing", text="a", until=str(gate))
        await at.until(at.runs)
        tree, stream = tree_of(at.root), at.names.stream("calls")
        await at.connection.jetstream.delete_consumer(stream, f"{tree.repository}_{tree.commit}")
        await at.result("reading", text="b")  # the worker has created the consumer again
        gate.touch()
        assert isinstance(await within(future), ToolCallCompleted)
        assert len(at.runs("begin writing")) == 1


async def test_call_stays_with_a_worker_that_still_runs_it(
    nats: NatsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JetStream delivers a call again if it missed the reports of the worker."""
    async with team(nats, tmp_path) as at:
        first = await at.worker("first", max_calls=1)  # it receives no second delivery

        @asynccontextmanager
        async def silent(_: object) -> AsyncIterator[None]:
            yield

        monkeypatch.setattr(first, "_kept_alive", silent)
        gate = tmp_path / "gate"
        future = await at.call("writing", text="a", until=str(gate))
        await at.until(at.runs)
        second = await at.worker("second")
        asked = asyncio.Event()
        still_runs = second._still_runs

        async def noted(state: CallState) -> bool:
            asked.set()
            return await still_runs(state)

        monkeypatch.setattr(second, "_still_runs", noted)
        await asyncio.wait_for(asked.wait(), 30)
        gate.touch()
        assert isinstance(await within(future), ToolCallCompleted)
        assert len(at.runs()) == 1


async def test_read_is_repeated_when_its_worker_is_killed(nats: NatsServer, tmp_path: Path) -> None:
    async with team(nats, tmp_path) as at:
        process = await at.process("first")
        gate = tmp_path / "gate"
        future = await at.call("reading", text="a", until=str(gate))
        await at.until(at.runs)
        process.send_signal(signal.SIGKILL)
        await at.worker("second")
        gate.touch()
        assert isinstance(await within(future), ToolCallCompleted)
        assert assigned(at) == ["first", "second"]
        assert len(at.runs()) == 2
        assert not [event for event in at.events if isinstance(event, ToolCallLate)]


async def test_write_is_not_repeated_when_its_worker_is_killed(
    nats: NatsServer, tmp_path: Path
) -> None:
    async with team(nats, tmp_path) as at:
        process = await at.process("first")
        future = await at.call("writing", text="a", until=str(tmp_path / "never"))
        await at.until(at.runs)
        process.send_signal(signal.SIGKILL)
        await at.worker("second")
        failed = failure(await within(future))
        assert (failed.kind, failed.effect) == (ErrorKind.UNAVAILABLE, Effect.UNKNOWN)
        assert "first stopped while it ran writing" in failed.message
        assert len(at.runs()) == 1


async def test_write_of_a_killed_worker_fails_without_other_workers(
    nats: NatsServer, tmp_path: Path
) -> None:
    async with team(nats, tmp_path) as at:
        process = await at.process("first")
        future = await at.call("writing", text="a", until=str(tmp_path / "never"))
        await at.until(at.runs)
        process.send_signal(signal.SIGKILL)
        failed = failure(await within(future))
        assert (failed.kind, failed.effect) == (ErrorKind.UNAVAILABLE, Effect.UNKNOWN)
        late = await at.worker("late")  # it receives the call, whose server no longer waits
        await at.result("reading", text="b")
        assert len(at.runs()) == 2
        assert late.figures.running == 0


async def test_call_that_no_worker_began_runs_here(nats: NatsServer, tmp_path: Path) -> None:
    async with team(nats, tmp_path, timing=replace(FAST, offer_kept=60.0)) as at:
        process = await at.process("first")
        await at.result("reading", text="a")
        process.send_signal(signal.SIGKILL)
        await process.wait()
        await at.result("writing", text="b")  # the server still trusts the offer of the worker
        assert assigned(at) == ["first"]
        await at.worker("second")
        await at.result("reading", text="c")
        assert await at.queued() == 0
        assert len(at.runs()) == 3


async def test_call_fails_after_the_maximum_number_of_deliveries(
    nats: NatsServer, tmp_path: Path
) -> None:
    async with team(nats, tmp_path) as at:
        await at.worker()
        queue = CallQueue(at.connection, at.names, at.timing)
        await queue.open()
        call = message(at, version=2)
        await queue.publish(call)
        state = None
        async with asyncio.timeout(30):
            while state is None:
                state = await queue.state(call.id)
                await asyncio.sleep(0.05)
        outcome = state[0].outcome
        assert outcome is not None
        assert outcome.failure is not None
        assert outcome.failure.kind is ErrorKind.UNAVAILABLE
        assert outcome.failure.effect is Effect.NONE
        assert "delivered 3 times" in outcome.failure.message
        assert "no version 2" in outcome.failure.message


async def test_full_queue_refuses_a_call(
    nats: NatsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call_queue, "_MAX_CALLS", 1)
    async with team(nats, tmp_path) as at:
        await at.worker()
        gate = tmp_path / "gate"
        running = await at.call("reading", text="a", until=str(gate))
        await at.until(at.runs)
        failed = failure(await within(await at.call("writing", text="b")))
        assert (failed.kind, failed.effect) == (ErrorKind.UNAVAILABLE, Effect.NONE)
        assert "is full" in failed.message
        gate.touch()
        assert isinstance(await within(running), ToolCallCompleted)


async def test_call_of_a_server_that_is_gone_does_not_run(nats: NatsServer, tmp_path: Path) -> None:
    async with team(nats, tmp_path) as at:
        worker = await at.worker()
        queue = CallQueue(at.connection, at.names, at.timing)
        await queue.open()
        await queue.publish(message(at, "writing"))
        await at.until(lambda: worker.figures.handed_back)
        await at.until(lambda: worker.figures.finished)
        assert at.runs() == []


async def test_cancelling_the_call_ends_it_at_the_worker(nats: NatsServer, tmp_path: Path) -> None:
    async with team(nats, tmp_path) as at:
        worker = await at.worker()
        future = await at.call("writing", text="a", until=str(tmp_path / "never"))
        await at.until(at.runs)
        await at.bus.publish(
            ToolCallFailed(
                request_id=at.caller.request_id, key=CallKey(0, 0), call_id="call_0",
                error=ToolFailure(ErrorKind.CANCELLED, "Over.", effect=Effect.UNKNOWN), duration=1,
            )
        )  # fmt: skip
        assert failure(await within(future)).kind is ErrorKind.CANCELLED
        await at.until(lambda: worker.figures.finished == 1 and worker.figures.running == 0)
        assert at.runs("end") == []


async def test_person_at_the_server_approves_a_call_of_the_worker(
    nats: NatsServer, tmp_path: Path
) -> None:
    async with team(nats, tmp_path) as at:
        await at.worker()
        with at.approvals.allow_questions():
            future = await at.call("asking", text="a")
            await at.until(at.approvals.pending)
            question = at.approvals.pending()[0]
            assert question.subjects == ("run a",)
            assert at.runs() == []
            at.approvals.answer(question.approval_id, ApprovalScope.ONCE)
            assert isinstance(await within(future), ToolCallCompleted)
            denied = await at.call("asking", text="b")
            await at.until(at.approvals.pending)
            question = at.approvals.pending()[0]
            at.approvals.answer(question.approval_id, ApprovalScope.DENIED, "not now")
            assert "not now" in failure(await within(denied)).message
        assert len(at.runs()) == 1
        asked = [event for event in at.events if isinstance(event, ApprovalRequested)]
        assert len(asked) == 2


async def test_worker_obeys_its_own_deny_rules(nats: NatsServer, tmp_path: Path) -> None:
    async with team(nats, tmp_path, approvals=ApprovalSettings(allow=("asking",))) as at:
        own = Settings(approvals=ApprovalSettings(deny=("asking command=run*",)))
        await at.worker(settings=own)
        assert failure(await within(await at.call("asking", text="a"))).kind is ErrorKind.DENIED
        assert at.runs() == []


async def test_time_limit_of_the_worker_ends_the_call(
    nats: NatsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Writing, "timeout", 0.1)
    async with team(nats, tmp_path) as at:
        await at.worker()
        future = await at.call("writing", text="a", until=str(tmp_path / "never"))
        failed = failure(await within(future))
        assert (failed.kind, failed.effect) == (ErrorKind.TIMEOUT, Effect.UNKNOWN)


async def test_two_workers_share_the_calls(nats: NatsServer, tmp_path: Path) -> None:
    async with team(nats, tmp_path) as at:
        await at.worker("one", max_calls=1)
        await at.worker("two", max_calls=1, root=clone(at.root, tmp_path / "clone"))
        gate = tmp_path / "gate"
        futures = [await at.call("reading", text=f"{n}", until=str(gate)) for n in range(4)]
        await at.until(lambda: len(at.runs()) == 2)
        assert sorted(assigned(at)) == ["one", "two"]
        gate.touch()
        for future in futures:
            assert isinstance(await within(future), ToolCallCompleted)
        assert len(at.runs()) == 4


async def test_outcome_survives_a_restart_of_nats(tmp_path: Path) -> None:
    with nats_server(tmp_path) as server:
        async with team(server, tmp_path) as at:
            await at.worker("one")
            gate = tmp_path / "gate"
            running = await at.call("writing", text="a", until=str(gate))
            await at.until(at.runs)
            await asyncio.to_thread(server.kill)
            gate.touch()  # the call ends while NATS is away
            await at.until(lambda: at.runs("end"))
            await asyncio.to_thread(server.start)
            assert isinstance(await within(running), ToolCallCompleted)
            await at.offered(at.root)
            await at.result("writing", text="b")
            assert len(at.runs()) == 2


async def test_outcome_that_was_lost_is_read_from_the_store(
    nats: NatsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with team(nats, tmp_path) as at:
        worker = await at.worker()

        async def lose(*_: object) -> None:
            """Lose the message that announces an outcome."""

        monkeypatch.setattr(worker, "_announce", lose)
        assert (await at.result("reading", text="a"))["text"] == "a"


async def test_call_fails_when_nats_stays_away(tmp_path: Path) -> None:
    with nats_server(tmp_path) as server:
        async with team(server, tmp_path, timing=replace(FAST, away=0.5)) as at:
            await at.worker()
            future = await at.call("writing", text="a", until=str(tmp_path / "never"))
            await at.until(at.runs)
            await asyncio.to_thread(server.kill)
            failed = failure(await within(future))
            assert (failed.kind, failed.effect) == (ErrorKind.UNAVAILABLE, Effect.UNKNOWN)
            await asyncio.to_thread(server.start)


async def test_drained_worker_finishes_its_calls_and_takes_no_new_ones(
    nats: NatsServer, tmp_path: Path
) -> None:
    async with team(nats, tmp_path) as at:
        first = await at.worker("first", max_calls=1)
        gate = tmp_path / "gate"
        running = await at.call("writing", text="a", until=str(gate))
        await at.until(at.runs)
        waiting = await at.call("writing", text="b")
        while await at.queued() < 2:  # noqa: ASYNC110  (the server looks for a worker first)
            await asyncio.sleep(0.01)
        first.drain()
        await at.worker("second")
        assert isinstance(await within(waiting), ToolCallCompleted)
        gate.touch()
        assert isinstance(await within(running), ToolCallCompleted)
        # The call may also run at the server, if no worker answers for a moment.
        assert assigned(at) in (["first", "second"], ["first"])


async def test_large_messages_work_up_to_the_limit_and_then_fail(
    nats: NatsServer, tmp_path: Path
) -> None:
    async with team(nats, tmp_path) as at:
        await at.worker()
        assert len(str((await at.result("reading", text="a", size=900_000))["filler"])) == 900_000
        failed = failure(await within(await at.call("writing", text="a", size=1_100_000)))
        assert (failed.kind, failed.effect) == (ErrorKind.LIMIT, Effect.APPLIED)
        failed = failure(await within(await at.call("writing", text="a" * 1_100_000)))
        assert (failed.kind, failed.effect) == (ErrorKind.LIMIT, Effect.NONE)
        assert len(at.runs()) == 2
