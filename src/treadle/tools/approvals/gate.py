"""The approval gate: decides by rules and earlier answers, or asks a person."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from treadle.clock import Clock, SystemClock
from treadle.config.model import ApprovalSettings
from treadle.errors import StoreError
from treadle.events import EventBus
from treadle.events.types import ApprovalRequested, ApprovalResolved, ApprovalScope, Notice
from treadle.ids import new_id
from treadle.tools.approvals.grants import Grant, GrantStore
from treadle.tools.approvals.question import Decision, Policy, Question
from treadle.tools.approvals.rules import ResolvedSubject, Rules
from treadle.tools.contract import Arguments, ToolContext
from treadle.tools.registry import AnyTool

_Answer = tuple[ApprovalScope, str | None]

_NOBODY = "No person can be asked here."

_SHOWN_CHARACTERS = 200
"""Characters of a question's summary."""


@dataclass(slots=True)
class _Weighed:
    """What the rules say about a question."""

    denied: str | None = None
    asked: set[Grant] = field(default_factory=set)
    """The grants that a person has to give."""
    reason: str = ""
    private: set[Path] = field(default_factory=set)
    protected: bool = False
    """Whether a person is asked every time, whatever was allowed before."""


@dataclass(slots=True)
class _Open:
    event: ApprovalRequested
    owner: UUID
    asked: set[Grant]
    answer: asyncio.Future[_Answer]


class Approvals:
    """Decides about the calls in one repository. Use it from the event loop of `bus` only.

    A front end that can ask a person enters `attend`, receives `ApprovalRequested` and calls
    `answer`. Without such a front end, every call that needs a person is refused.
    """

    def __init__(
        self,
        bus: EventBus,
        root: Path,
        settings: ApprovalSettings | None = None,
        *,
        store: GrantStore | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Without a `store`, permanent grants last until this process ends."""
        self._bus = bus
        self._root = root.resolve()
        self._rules = Rules(settings or ApprovalSettings())
        self._store = store
        self._clock = clock or SystemClock()
        self._attending = 0
        self._open: dict[UUID, _Open] = {}
        self._granted: dict[UUID, set[Grant]] = {}
        """The grants of each conversation, by its id."""

    @contextmanager
    def attend(self) -> Iterator[None]:
        """While this is entered, a person can be asked."""
        self._attending += 1
        try:
            yield
        finally:
            self._attending -= 1
            if not self._attending:
                for each in self._open.values():
                    _settle(each, ApprovalScope.WITHDRAWN, None)

    def pending(self) -> tuple[ApprovalRequested, ...]:
        """The questions that wait for an answer, oldest first.

        A front end that connects late reads them.
        """
        return tuple(each.event for each in self._open.values())

    def answer(self, approval_id: UUID, scope: ApprovalScope, words: str | None = None) -> bool:
        """Answer a question; returns False when it no longer waits.

        A denial passes `words` to the model.
        """
        asked = self._open.get(approval_id)
        if asked is None or asked.answer.done():
            return False
        _settle(asked, scope, words)
        if scope in {ApprovalScope.SESSION, ApprovalScope.ALWAYS}:
            granted = self._granted.setdefault(asked.owner, set())
            granted |= asked.asked
            for other in self._open.values():  # concurrent calls asked for the same grants
                if other.owner == asked.owner and other.asked <= granted:
                    _settle(other, scope, None)
        return True

    async def settled(self, approval_id: UUID) -> None:
        """Return when a question no longer waits for an answer."""
        asked = self._open.get(approval_id)
        if asked is not None:
            await asyncio.wait({asked.answer})

    def open_to(self, tool: str, path: str) -> bool:
        """Whether `tool` may read a path inside the root that is not in its arguments."""
        return self._rules.open_to(tool, path)

    async def decide(
        self,
        question: Question,
        context: ToolContext,
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> Decision:
        """Decide by the rules and earlier answers, or ask a person.

        `waiting` is entered while a person is asked. Raises PathRefusedError for a path outside
        the root.
        """
        if any(subject.path is not None for subject in question.subjects):
            weighed = await asyncio.to_thread(self._weigh, question, context.tool)
        else:
            weighed = self._weigh(question, context.tool)
        private = frozenset(weighed.private)
        if weighed.denied is not None:
            return Decision(allowed=False, reason=weighed.denied)
        granted = await self._is_granted(weighed.asked, _owner(context))
        if granted and not (weighed.protected and weighed.asked):
            return Decision(allowed=True, private=private)
        if not self._attending:
            return Decision(allowed=False, reason=f"{weighed.reason} {_NOBODY}", unanswered=True)
        with waiting():
            scope, words = await self._ask(question, context, weighed)
        if scope is ApprovalScope.DENIED:
            return Decision(allowed=False, scope=scope, words=words)
        if scope is ApprovalScope.WITHDRAWN:
            return Decision(
                allowed=False, reason=f"{weighed.reason} {_NOBODY}", scope=scope, unanswered=True
            )
        if scope is ApprovalScope.ALWAYS and not weighed.protected:
            await self._remember(weighed.asked, context)
        return Decision(allowed=True, scope=scope, words=words, private=private)

    def _weigh(self, question: Question, tool: str) -> _Weighed:
        weighed = _Weighed()
        for subject in question.subjects:
            place = ResolvedSubject.of(subject, self._root)
            verdict = self._rules.verdict(tool, place, question.policy)
            if place.real is not None and place.private:
                weighed.private.add(place.real)
            match verdict.policy:
                case Policy.DENY:
                    weighed.denied = weighed.denied or verdict.reason
                case Policy.ASK if question.asked_later and not place.private:
                    pass
                case Policy.ASK:
                    path = place.paths[0] if place.paths else ""
                    program = subject.program
                    weighed.asked.add(Grant.of(tool, path, subject.command or "", program))
                    changes = question.policy is Policy.ASK
                    weighed.protected |= changes and place.protected is not None
                    started = f" The program is {program}." if program else ""
                    weighed.reason = weighed.reason or f"{verdict.reason}{started}"
                case Policy.ALLOW:
                    pass
        return weighed

    async def _is_granted(self, asked: set[Grant], owner: UUID) -> bool:
        open_still = asked - self._granted.get(owner, set())
        if not open_still:
            return True
        if self._store is None:
            return False
        try:
            remembered = await asyncio.to_thread(self._store.remembered, self._root)
        except StoreError:  # without the store the person is asked again
            return False
        return open_still <= {each.grant for each in remembered}

    async def _ask(self, question: Question, context: ToolContext, weighed: _Weighed) -> _Answer:
        event = ApprovalRequested(
            request_id=context.request_id,
            parent_id=context.parent_id,
            approval_id=new_id(),
            key=context.key,
            call_id=context.call_id,
            name=context.tool,
            summary=question.summary,
            reason=weighed.reason,
            subjects=tuple(filter(None, map(str, question.subjects))),
            proposal_id=question.proposal_id,
            preview=question.preview,
        )
        answer: asyncio.Future[_Answer] = asyncio.get_running_loop().create_future()
        self._open[event.approval_id] = _Open(event, _owner(context), weighed.asked, answer)
        started = self._clock.monotonic()
        settled: _Answer = (ApprovalScope.WITHDRAWN, None)
        try:
            await self._bus.publish(event)
            settled = await answer
        finally:
            answer.cancel()
            del self._open[event.approval_id]
            await self._bus.publish(
                ApprovalResolved(
                    request_id=context.request_id,
                    parent_id=context.parent_id,
                    approval_id=event.approval_id,
                    key=context.key,
                    call_id=context.call_id,
                    scope=settled[0],
                    words=settled[1],
                    duration=self._clock.monotonic() - started,
                )
            )
        return settled

    async def _remember(self, grants: set[Grant], context: ToolContext) -> None:
        if self._store is None:
            return
        now = self._clock.now_us()
        try:
            await asyncio.to_thread(self._store.remember, self._root, sorted(grants, key=str), now)
        except StoreError as error:
            text = f"Allowed for this conversation only: {error}"
            await self._bus.publish(
                Notice(
                    request_id=context.request_id,
                    parent_id=context.parent_id,
                    level="warning",
                    text=text,
                )
            )


def question_about(tool: AnyTool, arguments: Arguments) -> Question:
    """The question whether a call of `tool` may run.

    The preview shows the arguments as they were understood. The model's own text may repeat a name,
    and a person could read the wrong value.
    """
    given: dict[str, Any] = arguments.model_dump(mode="json", exclude_unset=True)
    subjects = tool.subjects(arguments)
    about = ", ".join(filter(None, map(str, subjects)))
    about = about or json.dumps(given, ensure_ascii=False).removeprefix("{}")
    shown = about if len(about) <= _SHOWN_CHARACTERS else f"{about[:_SHOWN_CHARACTERS]}…"
    return Question(
        subjects,
        tool.asks,
        " ".join(f"{tool.name} {shown}".split()),
        preview=json.dumps(given, ensure_ascii=False, indent=1) if given else None,
        asked_later=tool.proposes,
    )


def _owner(context: ToolContext) -> UUID:
    """The owner of a grant for a session: the conversation, or the call if it has none."""
    return context.session_id or context.request_id


def _settle(asked: _Open, scope: ApprovalScope, words: str | None) -> None:
    if not asked.answer.done():
        asked.answer.set_result((scope, (words or "").strip() or None))
