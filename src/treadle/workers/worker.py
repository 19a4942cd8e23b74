"""The worker: takes calls for its repositories from the queue, runs them, and stores outcomes."""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.clock import Clock, SystemClock
from treadle.config.model import Settings
from treadle.events.types import Effect, ErrorKind, ToolFailure
from treadle.json_records import JsonMismatchError
from treadle.nats.connection import NatsConnection, answered
from treadle.nats.names import ProjectNames
from treadle.tools.contract import AnyTool, Registry
from treadle.workers.assignment import Assignment, CallEndedError, Workplace
from treadle.workers.call_queue import NATS_ERRORS, CallQueue
from treadle.workers.messages import (
    ANY_COMMIT,
    CallOutcome,
    CallState,
    DecisionMessage,
    Offer,
    OutcomeMessage,
    WorkerCall,
    decode,
    encode,
)
from treadle.workers.timing import Timing
from treadle.workers.work_tree import WorkTree, read_work_tree

if TYPE_CHECKING:
    from nats.aio.msg import Msg
    from nats.js import JetStreamContext

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OfferedRepository:
    """A repository that the worker offers, with its tools and the settings that apply to it."""

    root: Path
    registry: Registry
    settings: Settings


@dataclass(slots=True)
class WorkerFigures:
    """The numbers of calls since the worker started."""

    running: int = 0
    finished: int = 0
    handed_back: int = 0


@dataclass(frozen=True, slots=True)
class _Offering:
    """The task that takes the calls for one commit, and an event that is set when it is ready."""

    task: "asyncio.Task[None]"
    begun: asyncio.Event


@dataclass(slots=True)
class _Repository:
    """A repository with its present state."""

    offered: OfferedRepository
    at: Workplace
    tree: WorkTree | None = None
    offers: dict[str, _Offering] = field(default_factory=dict)
    """The commits that the worker offers, each with its task."""
    read: asyncio.Event = field(default_factory=asyncio.Event)
    """An event that is set when the work tree was read for the first time."""

    def tasks(self) -> "list[asyncio.Task[None]]":
        return [each.task for each in self.offers.values()]


class Worker:
    """Runs calls until `drain` is called. Use it in one event loop.

    At most `max_calls` calls run at once. `report` receives sentences for a person.
    """

    def __init__(
        self,
        connection: NatsConnection,
        names: ProjectNames,
        repositories: Sequence[OfferedRepository],
        *,
        name: str,
        max_calls: int,
        timing: Timing | None = None,
        clock: Clock | None = None,
        report: Callable[[str], None] = _log.info,
    ) -> None:
        self.name = name
        self.figures = WorkerFigures()
        self._connection = connection
        self._names = names
        self._queue = CallQueue(connection, names, timing)
        self._timing = self._queue.timing
        self._clock = clock or SystemClock()
        self._report = report
        self._slots = asyncio.Semaphore(max_calls)
        self._free = asyncio.Event()
        self._free.set()
        self._max_calls = max_calls
        self._draining = asyncio.Event()
        self._assignments: dict[str, Assignment] = {}
        self._calls: set[asyncio.Task[None]] = set()
        self._executor = ThreadPoolExecutor(max_calls, "treadle-worker")
        self._repositories = [self._repository(each) for each in repositories]

    async def run(self) -> None:
        """Offer the repositories and run calls, until `drain` was called and all calls ended."""
        await self._queue.open()
        try:
            async with (
                self._subscribed(self._subject("decisions"), self._on_decision),
                self._subscribed(self._subject("running"), self._on_running),
                self._subscribed(self._names.subject("cancelled"), self._on_cancelled),
            ):
                async with asyncio.TaskGroup() as group:
                    for each in self._repositories:
                        group.create_task(self._follow(each))
                while self._calls:
                    await asyncio.wait(self._calls)
        finally:
            for task in list(self._calls):
                task.cancel()
            await asyncio.gather(*self._calls, return_exceptions=True)
            self._executor.shutdown(wait=False, cancel_futures=True)

    async def wait_until_offered(self) -> None:
        """Wait until servers can find the repositories of this worker."""
        for repository in self._repositories:
            await repository.read.wait()
            for offering in tuple(repository.offers.values()):
                await offering.begun.wait()

    @property
    def is_draining(self) -> bool:
        """Whether the worker takes no new calls any more."""
        return self._draining.is_set()

    def drain(self) -> None:
        """Take no new calls. The running calls end normally."""
        self._draining.set()
        self._free.set()

    def _repository(self, offered: OfferedRepository) -> _Repository:
        root = offered.root.resolve()
        return _Repository(
            offered,
            Workplace(
                self._connection, self._names, self.name, root, offered.settings.tools,
                offered.settings.approvals, self._executor, self._timing, self._clock,
            ),
        )  # fmt: skip

    async def _follow(self, repository: _Repository) -> None:
        """Offer the commit of the work tree, and follow its changes until the worker drains."""
        try:
            while not self._draining.is_set():
                await self._refresh(repository)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._draining.wait(), self._timing.poll)
            if repository.offers:  # the last request for calls ends by itself
                await asyncio.wait(repository.tasks())
        finally:
            for task in repository.tasks():
                task.cancel()
            await asyncio.gather(*repository.tasks(), return_exceptions=True)

    async def _refresh(self, repository: _Repository) -> None:
        """Read the work tree, and change what the worker offers if the work tree changed."""
        tree = await asyncio.to_thread(read_work_tree, repository.at.root)
        if tree != repository.tree:
            self._report(f"{repository.at.root}: {_offered(tree)}")
            repository.tree = tree
        wanted: set[str] = set()
        if tree is not None:
            wanted = {ANY_COMMIT, tree.commit} if tree.is_clean else {ANY_COMMIT}
        for commit in repository.offers.keys() - wanted:
            repository.offers.pop(commit).task.cancel()
        for commit in wanted - repository.offers.keys():
            assert tree is not None
            begun = asyncio.Event()
            offering = self._offer(repository, tree.repository, commit, begun)
            task = asyncio.create_task(offering, name=f"offer {commit}")
            repository.offers[commit] = _Offering(task, begun)
        repository.read.set()

    async def _offer(
        self, repository: _Repository, identity: str, commit: str, begun: asyncio.Event
    ) -> None:
        """Answer servers that look for a worker with a commit, and take calls for the commit."""
        offer = Offer(self.name, {tool.name: tool.version for tool in repository.offered.registry})

        async def answer(message: "Msg") -> None:
            await message.respond(encode(offer))

        subject = self._names.subject("offers", identity, commit)
        while not self._draining.is_set():
            try:
                async with self._subscribed(subject, answer):
                    calls = await self._queue.pull(identity, commit)
                    begun.set()
                    await self._take(repository, calls)
            except NATS_ERRORS as error:
                _log.warning("the queue of calls cannot be read: %s", error)
                await self._clock.sleep(self._timing.hand_back)

    @asynccontextmanager
    async def _subscribed(
        self, subject: str, callback: "Callable[[Msg], Awaitable[None]]"
    ) -> AsyncIterator[None]:
        subscription = await self._connection.client.subscribe(subject, cb=callback)
        try:
            yield
        finally:
            with suppress(*NATS_ERRORS):
                await subscription.unsubscribe()

    async def _take(
        self, repository: _Repository, calls: "JetStreamContext.PullSubscription"
    ) -> None:
        """Take calls until the worker drains. Raises NATS errors."""
        try:
            while not self._draining.is_set():
                await self._free.wait()
                if self._draining.is_set():
                    return
                try:
                    [message] = await answered(calls.fetch(1, timeout=self._timing.fetch))
                except TimeoutError:
                    continue
                task = asyncio.create_task(self._serve(repository, message))
                self._calls.add(task)
                task.add_done_callback(self._ended)
                self._update_free()
        finally:
            with suppress(*NATS_ERRORS):
                await calls.unsubscribe()

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._calls.discard(task)
        self._update_free()
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("A call could not be handled", exc_info=error)

    def _update_free(self) -> None:
        if len(self._calls) < self._max_calls or self._draining.is_set():
            self._free.set()
        else:
            self._free.clear()

    async def _serve(self, repository: _Repository, message: "Msg") -> None:
        """Handle one delivery of a call, and report to JetStream that it is in progress."""
        async with self._kept_alive(message):
            try:
                call = decode(WorkerCall, message.data)
            except (JsonMismatchError, ValueError):
                _log.error("a malformed call was removed from the queue")
                await message.term()
                return
            try:
                if not await self._reserve_slot():
                    await self._hand_back(call, message, "the worker is about to stop")
                    return
                self.figures.running += 1
                try:
                    await self._handle(repository, call, message)
                finally:
                    self.figures.running -= 1
                    self._slots.release()
            except NATS_ERRORS as error:  # JetStream then delivers the call again
                _log.warning(
                    "call %s was not begun and will be delivered again: %s", call.id, error
                )

    async def _reserve_slot(self) -> bool:
        """Wait for a free slot. Returns False if the worker drains.

        It rarely waits: only if two requests for calls were answered while one slot was free.
        """
        reserved = asyncio.ensure_future(self._slots.acquire())
        draining = asyncio.ensure_future(self._draining.wait())
        try:
            await asyncio.wait({reserved, draining}, return_when=asyncio.FIRST_COMPLETED)
            if self._draining.is_set() and reserved.done():
                self._slots.release()
            return not self._draining.is_set()
        finally:
            reserved.cancel()
            draining.cancel()

    async def _handle(self, repository: _Repository, call: WorkerCall, message: "Msg") -> None:
        """Decide what to do with a delivery, from the stored state of its call."""
        delivery = message.metadata.num_delivered
        stored = None if delivery == 1 else await self._queue.state(call.id)
        if await self._is_settled(call, message, stored):
            return
        tool = repository.offered.registry.get(call.tool)
        reason = await self._why_not(repository, call, tool)
        unfinished = stored is not None and call.unfinished is not Effect.NONE
        if delivery > self._timing.max_deliveries or unfinished:
            await self._give_up(call, message, stored, reason)
        elif reason is not None or tool is None:
            await self._hand_back(call, message, reason or "")
        else:
            await self._run(Assignment(repository.at, call, tool), message, stored)

    async def _is_settled(
        self, call: WorkerCall, message: "Msg", stored: tuple[CallState, int] | None
    ) -> bool:
        """Whether a delivery needs no work: the call has an outcome, or another delivery runs it.

        This method then also acknowledges the delivery.
        """
        if stored is None:
            return False
        state = stored[0]
        if state.outcome is not None:
            await self._announce(call, state.outcome)
            await message.ack()
            return True
        if message.metadata.sequence.stream != state.sequence:  # the server sent the call twice
            await message.ack()
            return True
        if message.metadata.num_delivered <= state.delivery:  # an old delivery arrived late
            return True
        # JetStream may deliver a running call again, since it may lose reports when it restarts.
        return await self._still_runs(state)

    async def _still_runs(self, state: CallState) -> bool:
        """Ask the worker that owns a call whether it still runs the call."""
        subject = self._names.subject("workers", state.worker, "running")
        attempt = state.attempt.encode()
        try:
            request = self._connection.client.request(subject, attempt, timeout=self._timing.find)
            return bool((await answered(request)).data)
        except NATS_ERRORS:
            return False

    async def _why_not(
        self, repository: _Repository, call: WorkerCall, tool: AnyTool | None
    ) -> str | None:
        """Return the reason why this worker cannot run the call now, or None if it can."""
        if self._draining.is_set():
            return "it is about to stop"
        if tool is None or tool.version != call.version:
            return f"it has no version {call.version} of {call.tool}"
        if call.commit == ANY_COMMIT:
            return None
        tree = await asyncio.to_thread(read_work_tree, repository.at.root)
        if tree is not None and tree.commit == call.commit and tree.is_clean:
            return None
        await self._refresh(repository)
        return f"its work tree is no longer at commit {call.commit[:12]}, or has changes"

    async def _run(
        self, assignment: Assignment, message: "Msg", stored: tuple[CallState, int] | None
    ) -> None:
        """Become the owner of a call, run it, and store its outcome."""
        call = assignment.call
        wanted = await assignment.is_wanted()
        if wanted is None:
            await self._hand_back(call, message, "the server of the call does not answer")
            return
        if not wanted:
            await message.ack()
            return
        state = self._state(message, assignment.attempt)
        revision = await self._own(call, state, stored[1] if stored else 0)
        if revision is None:
            if not await self._is_settled(call, message, await self._queue.state(call.id)):
                await self._hand_back(call, message, "another worker took the call")
            return
        self._assignments[call.id] = assignment
        try:
            outcome = self._within_limit(assignment, await assignment.run())
            await self._finish(call, message, replace(state, outcome=outcome), revision)
        except CallEndedError:
            outcome = assignment.failed(ErrorKind.CANCELLED, f"{call.tool} was cancelled.")
            await self._finish(call, message, replace(state, outcome=outcome), revision)
        except asyncio.CancelledError:  # this process ends now
            await self._abandon(assignment, message, state, revision)
            raise
        finally:
            del self._assignments[call.id]

    async def _own(self, call: WorkerCall, state: CallState, revision: int) -> int | None:
        """Store this worker as the owner of a call, and return the revision of the stored state.

        Returns None if another attempt owns the call. If NATS does not answer, the state may be
        stored or not, so this method tries again. Raises NATS errors if that takes too long.
        """
        started = self._clock.monotonic()
        while True:
            try:
                if (stored := await self._queue.store(call.id, state, revision)) is not None:
                    return stored
                now = await self._queue.state(call.id)
                return now[1] if now is not None and now[0] == state else None
            except NATS_ERRORS:
                if self._clock.monotonic() - started > self._timing.caller_lost:
                    raise
                await self._clock.sleep(self._timing.hand_back)

    async def _abandon(
        self, assignment: Assignment, message: "Msg", state: CallState, revision: int
    ) -> None:
        """Hand back a call that only reads, because this process ends.

        If the call may have written, store a failure instead, so that it is not repeated.
        """
        call = assignment.call
        if call.unfinished is Effect.NONE:
            with suppress(*NATS_ERRORS):
                await message.nak()
            return
        outcome = assignment.failed(ErrorKind.UNAVAILABLE, _stopped(self.name, call.tool))
        with suppress(*NATS_ERRORS):
            await asyncio.wait_for(
                self._finish(call, message, replace(state, outcome=outcome), revision),
                self._timing.find,
            )

    async def _finish(
        self, call: WorkerCall, message: "Msg", state: CallState, revision: int
    ) -> None:
        """Store the outcome unless the call has one, send it to the server, and acknowledge it.

        While NATS is away, this method tries again.
        """
        started = self._clock.monotonic()
        assert state.outcome is not None
        while True:
            try:
                if await self._queue.store(call.id, state, revision) is None:
                    stored = await self._queue.state(call.id)
                    if stored is None or stored[0] != state:
                        _log.warning("call %s has another owner or outcome", call.id)
                        return
                await self._announce(call, state.outcome)
                await message.ack()
            except NATS_ERRORS as error:
                if self._clock.monotonic() - started > self._timing.call_kept:
                    raise
                _log.warning("the outcome of call %s is not stored yet: %s", call.id, error)
                await self._clock.sleep(self._timing.hand_back)
            else:
                self.figures.finished += 1
                return

    async def _give_up(
        self,
        call: WorkerCall,
        message: "Msg",
        stored: tuple[CallState, int] | None,
        reason: str | None,
    ) -> None:
        """Store a failure for a call that no worker could finish, or that must not run again."""
        if stored is not None and call.unfinished is not Effect.NONE:
            text = _stopped(stored[0].worker, call.tool)
            hint = "Check the state of the repository before you call the tool again."
        else:
            times = message.metadata.num_delivered - 1
            last = f" The last worker gave the reason: {reason}." if reason else ""
            text = f"{call.tool} was delivered {times} times, and no worker finished it.{last}"
            hint = "Look at the logs of the workers, then call the tool again."
        effect = Effect.NONE if stored is None else call.unfinished
        failure = ToolFailure(ErrorKind.UNAVAILABLE, text, hint=hint, effect=effect)
        outcome = CallOutcome(self.name, failure=failure)
        state = replace(self._state(message, secrets.token_hex(8)), outcome=outcome)
        await self._finish(call, message, state, stored[1] if stored else 0)

    def _state(self, message: "Msg", attempt: str) -> CallState:
        metadata = message.metadata
        return CallState(self.name, attempt, metadata.sequence.stream, metadata.num_delivered)

    async def _hand_back(self, call: WorkerCall, message: "Msg", reason: str) -> None:
        """Let JetStream deliver the call again, to this worker or another."""
        _log.info("call %s is handed back: %s", call.id, reason)
        self.figures.handed_back += 1
        draining = self._draining.is_set()
        await message.nak(delay=None if draining else self._timing.hand_back)

    async def _announce(self, call: WorkerCall, outcome: CallOutcome) -> None:
        """Send the outcome to the server. If this message is lost, the server reads the bucket."""
        subject = self._names.subject("callers", call.caller, "outcomes")
        await self._connection.client.publish(subject, encode(OutcomeMessage(call.id, outcome)))

    def _within_limit(self, assignment: Assignment, outcome: CallOutcome) -> CallOutcome:
        """Replace an outcome that is too large for a message by a failure."""
        size = len(encode(outcome))
        if size <= self._queue.max_bytes:
            return outcome
        writes = assignment.call.unfinished is not Effect.NONE
        return assignment.failed(
            ErrorKind.LIMIT,
            f"The result of {assignment.call.tool} is too large for NATS: {size:,} bytes.",
            effect=Effect.APPLIED if writes else Effect.NONE,
            hint=f"Request a smaller result, of at most {self._queue.max_bytes:,} bytes.",
        )

    @asynccontextmanager
    async def _kept_alive(self, message: "Msg") -> AsyncIterator[None]:
        """Report at intervals that the delivery is in progress, so that no other worker gets it."""

        async def report() -> None:
            while True:
                await self._clock.sleep(self._timing.heartbeat)
                with suppress(*NATS_ERRORS):
                    await message.in_progress()

        reporting = asyncio.create_task(report())
        try:
            yield
        finally:
            reporting.cancel()

    async def _on_decision(self, message: "Msg") -> None:
        with suppress(JsonMismatchError, ValueError):
            received = decode(DecisionMessage, message.data)
            assignment = self._assignments.get(received.call)
            if assignment is not None and assignment.attempt == received.attempt:
                assignment.decide(received.number, received.decision)

    async def _on_running(self, message: "Msg") -> None:
        """Reply with the attempt if this worker still runs it, and with an empty message if not."""
        attempt = message.data.decode("ascii", "replace")
        runs = any(each.attempt == attempt for each in self._assignments.values())
        await message.respond(message.data if runs else b"")

    async def _on_cancelled(self, message: "Msg") -> None:
        assignment = self._assignments.get(message.data.decode("ascii", "replace"))
        if assignment is not None:
            assignment.cancel()

    def _subject(self, what: str) -> str:
        return self._names.subject("workers", self.name, what)


def _stopped(worker: str, tool: str) -> str:
    return (
        f"The worker {worker} stopped while it ran {tool}, so it is not known whether the call "
        "took effect."
    )


def _offered(tree: WorkTree | None) -> str:
    """Return a sentence that states what the worker offers for a work tree."""
    if tree is None:
        return "not offered, because it is not a git repository with a commit"
    if tree.is_clean:
        return f"offered at commit {tree.commit[:12]}"
    return f"has changes, so it is not offered at commit {tree.commit[:12]}"
