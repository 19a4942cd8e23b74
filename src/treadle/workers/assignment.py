"""Runs one call at a worker: runs the tool, reports to the server, and returns the outcome."""

import asyncio
import logging
import secrets
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from treadle.clock import Clock
from treadle.config.model import ApprovalSettings, ToolSettings
from treadle.events import Event
from treadle.events.bus import Envelope
from treadle.events.encoding import event_json
from treadle.events.types import Effect, ErrorKind, ToolFailure
from treadle.json_records import JsonMismatchError
from treadle.nats.connection import NatsConnection, answered
from treadle.nats.names import ProjectNames
from treadle.tools.approvals.gate import question_about
from treadle.tools.approvals.question import Decision, Policy, Question
from treadle.tools.approvals.rules import ResolvedSubject, Rules, Verdict
from treadle.tools.arguments import parse_arguments
from treadle.tools.contract import AnyTool, ToolClass, ToolContext, ToolError
from treadle.tools.executor import TimeLimit
from treadle.tools.failures import effect_of_unfinished, failure_of
from treadle.workers.call_queue import NATS_ERRORS
from treadle.workers.messages import (
    FORWARDED,
    CallOutcome,
    EventMessage,
    Report,
    ReportKind,
    ReportReply,
    WorkerCall,
    decode,
    encode,
)
from treadle.workers.timing import Timing

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Workplace:
    """What all calls of a worker in one repository share."""

    connection: NatsConnection
    names: ProjectNames
    worker: str
    root: Path
    tools: ToolSettings
    approvals: ApprovalSettings
    """The approval rules of the worker. They apply in addition to those of the server."""
    executor: Executor
    timing: Timing
    clock: Clock


class CallEndedError(Exception):
    """The server no longer waits for the call."""


@dataclass(slots=True)
class Assignment:
    """One attempt of this worker to run a call. `attempt` is a random name that is never reused."""

    at: Workplace
    call: WorkerCall
    tool: AnyTool
    attempt: str = field(default_factory=lambda: secrets.token_hex(8))
    _decisions: dict[int, "asyncio.Future[Decision]"] = field(default_factory=dict)
    _limit: TimeLimit | None = None
    _running: "asyncio.Task[CallOutcome] | None" = None
    _heard: float = 0.0

    async def is_wanted(self) -> bool | None:
        """Ask the server whether it still waits for the call. Returns None without an answer."""
        return await self._report(ReportKind.BEGIN)

    async def run(self) -> CallOutcome:
        """Run the tool within its time limit and return the outcome.

        Raises CallEndedError if the call was cancelled.
        """
        self._heard = self.at.clock.monotonic()
        self._limit = TimeLimit(_seconds(self.tool, self.at.tools), self.at.clock)
        running = self._running = asyncio.create_task(self._run_tool())
        reporting = asyncio.create_task(self._keep_reporting())
        try:
            await self._limit.wait(running)
            if running.cancelled():
                raise CallEndedError
            return running.result()
        except TimeoutError:
            message = f"{self.tool.name} did not answer within {self._limit.seconds:g} seconds."
            return self.failed(ErrorKind.TIMEOUT, message)
        finally:
            reporting.cancel()
            running.cancel()
            await asyncio.wait({reporting, running})

    def cancel(self) -> None:
        """End the call, because its server no longer waits for it."""
        if self._running is not None:
            self._running.cancel()

    def decide(self, number: int, decision: Decision) -> None:
        """Continue after the decision about the question with this number."""
        waiting = self._decisions.get(number)
        if waiting is not None and not waiting.done():
            waiting.set_result(decision)

    def failed(
        self, kind: ErrorKind, message: str, effect: Effect | None = None, hint: str | None = None
    ) -> CallOutcome:
        """Return a failure as the outcome. The default for `effect` is `call.unfinished`."""
        effect = effect_of_unfinished(self.tool) if effect is None else effect
        return CallOutcome(
            self.at.worker, None, ToolFailure(kind, message, hint=hint, effect=effect)
        )

    async def _run_tool(self) -> CallOutcome:
        tool = self.tool
        try:
            arguments = parse_arguments(tool.name, tool.arguments, self.call.arguments)
            await self._check_own_rules(question_about(tool, arguments))
            result = await tool.run(arguments, self._context())
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return self.failed(ErrorKind.INTERNAL, f"{tool.name} ended with a cancelled task.")
        except Exception as error:  # noqa: BLE001  (every call gets an outcome)
            failure = failure_of(tool, error)
            if failure.kind is ErrorKind.INTERNAL:
                _log.error("The tool %s failed", tool.name, exc_info=error)
            return CallOutcome(self.at.worker, None, failure)
        return CallOutcome(self.at.worker, result.model_dump_json(by_alias=True))

    def _context(self) -> ToolContext:
        call, at = self.call, self.at
        rules = Rules(
            ApprovalSettings(
                deny=(*at.approvals.deny, *call.deny), ask=(*at.approvals.ask, *call.ask)
            )
        )
        background = self.tool.tool_class is ToolClass.BACKGROUND
        return ToolContext(
            request_id=call.request_id,
            key=call.key,
            tool=call.tool,
            session_id=call.session_id,
            parent_id=call.parent_id,
            call_id=call.call_id,
            last_user_message=call.user_message,
            clock=at.clock,
            publish=self._publish,
            approve=self._approve,
            private=frozenset(at.root / path for path in call.private),
            open_to=lambda path: rules.open_to(call.tool, path),
            executor=at.executor if background else None,
        )

    async def _publish(self, event: Event) -> None:
        """Send an event of the tool to the server. The event is lost if NATS is away."""
        if not isinstance(event, FORWARDED):
            return
        message = EventMessage(self.call.id, event_json(Envelope(0, 0, event)))
        with suppress(*NATS_ERRORS):
            await self.at.connection.client.publish(self._subject("events"), encode(message))

    async def _approve(self, question: Question) -> Decision:
        """Return the decision of the server, which asks a person if necessary.

        The time limit of the call pauses meanwhile.
        """
        if (refused := await self._refusal(question)) is not None:
            return refused
        assert self._limit is not None
        number = len(self._decisions)
        waiting: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._decisions[number] = waiting
        with self._limit.paused():
            while not waiting.done():
                await self._report(ReportKind.QUESTION, number, question)
                await asyncio.wait({waiting}, timeout=self.at.timing.heartbeat)
        return waiting.result()

    async def _check_own_rules(self, question: Question) -> None:
        """Raise ToolError if the rules of this worker deny the call."""
        if (refused := await self._refusal(question)) is not None:
            raise ToolError.of(refused.failure(question.summary))

    async def _refusal(self, question: Question) -> Decision | None:
        """Return the refusal by a deny rule of this worker, or None. No server can overrule it."""
        verdicts = await asyncio.to_thread(self._verdicts, question)
        denied = next((each for each in verdicts if each.policy is Policy.DENY), None)
        return None if denied is None else Decision(allowed=False, reason=denied.reason)

    def _verdicts(self, question: Question) -> list[Verdict]:
        rules, root = Rules(self.at.approvals), self.at.root
        return [
            rules.verdict(self.call.tool, ResolvedSubject.of(each, root), question.policy)
            for each in question.subjects
        ]

    async def _keep_reporting(self) -> None:
        """Report to the server at intervals, and cancel the tool if nobody waits for the call."""
        while True:
            await self.at.clock.sleep(self.at.timing.heartbeat)
            wanted = await self._report(ReportKind.ALIVE)
            silent = self.at.clock.monotonic() - self._heard > self.at.timing.caller_lost
            if wanted is False or (silent and self.at.connection.is_connected):
                self.cancel()

    async def _report(
        self, kind: ReportKind, number: int = 0, question: Question | None = None
    ) -> bool | None:
        """Report to the server, and return whether the server still waits for the call.

        Returns None if the server does not answer.
        """
        report = Report(self.call.id, self.at.worker, kind, self.attempt, number, question)
        try:
            request = self.at.connection.client.request(
                self._subject("reports"), encode(report), timeout=self.at.timing.heartbeat
            )
            reply = await answered(request)
            wanted = decode(ReportReply, reply.data).wanted
        except (*NATS_ERRORS, JsonMismatchError, ValueError):
            return None
        self._heard = self.at.clock.monotonic()
        return wanted

    def _subject(self, what: str) -> str:
        return self.at.names.subject("callers", self.call.caller, what)


def _seconds(tool: AnyTool, settings: ToolSettings) -> float:
    if tool.timeout is not None:
        return tool.timeout
    background = tool.tool_class is ToolClass.BACKGROUND
    return settings.background_timeout if background else settings.timeout
