"""The approval gate. It decides about tool calls by rules and earlier answers, or asks a person."""

import asyncio
import itertools
import json
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import UUID

from treadle.clock import Clock, SystemClock
from treadle.config.model import ApprovalSettings
from treadle.errors import StoreError
from treadle.events import EventBus
from treadle.events.types import (
    ApprovalRequested,
    ApprovalResolved,
    ApprovalScope,
    Mode,
    Notice,
)
from treadle.ids import new_id
from treadle.tools.approvals.grants import Grant, GrantStore
from treadle.tools.approvals.question import (
    READ_ONLY_REASON,
    Decision,
    Policy,
    Question,
    Subject,
)
from treadle.tools.approvals.rules import ResolvedSubject, Rules
from treadle.tools.contract import AnyTool, Arguments, ToolContext, ToolEffect
from treadle.visible import in_line

_Answer = tuple[ApprovalScope, str | None]

_NOBODY_APPROVES = "No person can be asked here."

_NEVER_STORED = "an answer about such a command is not stored"

_SHOWN_CHARACTERS = 200
"""The maximum length of a question's summary in characters."""


_EFFECTS = {
    ToolEffect.READ: "The tool reads data, and no rule allows it.",
    ToolEffect.WRITE: "The tool can change data, and no rule allows it.",
    ToolEffect.UI: "The tool changes what you see, and no rule allows it.",
    ToolEffect.SPENDS: "The tool costs money, and no rule allows it.",
}


@dataclass(slots=True)
class _Assessment:
    """The result of the approval rules for a question."""

    denied: str | None = None
    required: set[Grant] = field(default_factory=set)
    """The grants that a person has to give."""
    reason: str = ""
    private: set[Path] = field(default_factory=set)
    protected: dict[Grant, str] = field(default_factory=dict)
    """The grants for which a person is asked every time, and the reason for each."""


@dataclass(slots=True)
class _Open:
    event: ApprovalRequested
    owner: UUID
    required: set[Grant]
    protected: Mapping[Grant, str]
    answer: asyncio.Future[_Answer]
    writes: bool


@dataclass(frozen=True, slots=True)
class SessionGrant:
    """A grant for one conversation, which ends with this process.

    A person revokes it by `number`. `owner` is the id of the conversation. For a call outside a
    conversation, it is the id of the request.
    """

    number: int
    owner: UUID
    grant: Grant


@dataclass(frozen=True, slots=True)
class RequiredGrants:
    """The grants that the answer to a question would give.

    `protected` maps some of the grants to a reason. Such a grant is never stored, so the person is
    asked every time.
    """

    grants: tuple[Grant, ...]
    protected: Mapping[Grant, str]


class Approvals:
    """Decides about the calls in one repository.

    Use it only in the event loop of `bus`. A front end that can ask a person enters the context
    `allow_questions`. It receives the events `ApprovalRequested` and calls `answer`. While no front
    end is in this context, every call that needs a person's approval is refused.
    """

    def __init__(
        self,
        bus: EventBus,
        root: Path,
        settings: ApprovalSettings | None = None,
        *,
        store: GrantStore | None = None,
        clock: Clock | None = None,
        first_number: int = 1,
    ) -> None:
        """Create a gate. Without a `store`, permanent grants last until this process ends.

        Grants for conversations are numbered from `first_number`.
        """
        self._bus = bus
        self._root = root.resolve()
        self._rules = Rules(settings or ApprovalSettings())
        self._store = store
        self._clock = clock or SystemClock()
        self._front_ends = 0
        self._open: dict[UUID, _Open] = {}
        self._granted: dict[UUID, dict[Grant, int]] = {}
        """Maps the id of a conversation to its grants, and each grant to its number."""
        self._numbers = itertools.count(first_number)

    @contextmanager
    def allow_questions(self) -> Iterator[None]:
        """Allow questions while the context is active, because a front end can show them."""
        self._front_ends += 1
        try:
            yield
        finally:
            self._front_ends -= 1
            if not self._front_ends:
                for each in self._open.values():
                    _settle(each, ApprovalScope.WITHDRAWN, None)

    @property
    def questions_allowed(self) -> bool:
        """Whether a front end can show questions at present."""
        return self._front_ends > 0

    def may_allow(self, tool: str) -> bool:
        """Whether a call of `tool` may be allowed at present, by a rule or by a person."""
        return self.questions_allowed or self._rules.may_allow(tool)

    def pending(self) -> tuple[ApprovalRequested, ...]:
        """Return the questions that wait for an answer, oldest first.

        A front end that connects late reads these questions.
        """
        return tuple(each.event for each in self._open.values())

    def answer(self, approval_id: UUID, scope: ApprovalScope, words: str | None = None) -> bool:
        """Answer a question.

        Returns False if the question no longer waits. If the answer is a denial, the model receives
        `words`.
        """
        waiting_question = self._open.get(approval_id)
        if waiting_question is None or waiting_question.answer.done():
            return False
        _settle(waiting_question, scope, words)
        if scope in {ApprovalScope.SESSION, ApprovalScope.ALWAYS}:
            granted = self._granted.setdefault(waiting_question.owner, {})
            protected = waiting_question.protected
            for grant in sorted(waiting_question.required.difference(granted, protected), key=str):
                granted[grant] = next(self._numbers)
            for other in self._open.values():  # concurrent calls may need the same grants
                if other.owner == waiting_question.owner and other.required <= granted.keys():
                    _settle(other, scope, None)
        return True

    def withdraw_writes(self, owner: UUID) -> None:
        """Withdraw the questions about writing calls of the conversation `owner`.

        Call this method when the conversation enters the mode `read_only`.
        """
        for each in self._open.values():
            if each.owner == owner and each.writes:
                _settle(each, ApprovalScope.WITHDRAWN, None)

    def required(self, approval_id: UUID) -> RequiredGrants | None:
        """The grants that a waiting question needs, or None if it no longer waits."""
        waiting_question = self._open.get(approval_id)
        if waiting_question is None:
            return None
        grants = tuple(sorted(waiting_question.required, key=str))
        return RequiredGrants(grants, waiting_question.protected)

    def session_grants(self) -> tuple[SessionGrant, ...]:
        """The grants of all conversations, oldest first."""
        found = [
            SessionGrant(number, owner, grant)
            for owner, grants in self._granted.items()
            for grant, number in grants.items()
        ]
        return tuple(sorted(found, key=lambda each: each.number))

    def revoke_session_grants(self, numbers: Collection[int]) -> int:
        """Revoke the grants with these numbers. Returns the number of revoked grants."""
        found = [each for each in self.session_grants() if each.number in numbers]
        for each in found:
            del self._granted[each.owner][each.grant]
        return len(found)

    def revoke_equal(self, grants: Collection[Grant]) -> int:
        """Revoke the grants of all conversations that equal one of `grants`.

        Returns the number of revoked grants.
        """
        return self.revoke_session_grants(
            [each.number for each in self.session_grants() if each.grant in grants]
        )

    async def wait_until_settled(self, approval_id: UUID) -> None:
        """Wait until a question no longer waits for an answer."""
        waiting_question = self._open.get(approval_id)
        if waiting_question is not None:
            await asyncio.wait({waiting_question.answer})

    def open_to(self, tool: str, path: str) -> bool:
        """Whether `tool` may read a path inside the root that the call did not name."""
        return self._rules.open_to(tool, path)

    async def decide(
        self,
        question: Question,
        context: ToolContext,
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> Decision:
        """Decide by the mode, the rules and earlier answers, or ask a person.

        In the mode `read_only`, calls of tools that write are refused before any rule applies. The
        mode is read again after an answer, since it may have changed. The context manager
        `waiting` is active while a person is asked. Raises PathRefusedError for a path outside the
        root.
        """
        if await _is_read_only(context):
            return _REFUSED_BY_MODE
        decision = await self._decide(question, context, waiting)
        if decision.scope is not None and await _is_read_only(context):
            return _REFUSED_BY_MODE
        return decision

    async def _decide(
        self,
        question: Question,
        context: ToolContext,
        waiting: Callable[[], AbstractContextManager[None]],
    ) -> Decision:
        decision, assessment = await self._decide_by_rules(question, context.tool, _owner(context))
        if not decision.unanswered:
            return decision
        if not (self._front_ends and context.asks_person):
            return replace(decision, reason=f"{assessment.reason} {_NOBODY_APPROVES}")
        private = frozenset(assessment.private)
        with waiting():
            scope, words = await self._ask(question, context, assessment)
        if scope is ApprovalScope.DENIED:
            return Decision(allowed=False, scope=scope, words=words)
        if scope is ApprovalScope.WITHDRAWN:
            return Decision(
                allowed=False,
                reason=f"{assessment.reason} {_NOBODY_APPROVES}",
                scope=scope,
                unanswered=True,
            )
        if scope is ApprovalScope.ALWAYS and not assessment.protected:
            await self._remember(assessment.required, context)
        return Decision(allowed=True, scope=scope, words=words, private=private)

    async def decide_alone(self, question: Question, tool: str, session_id: UUID) -> Decision:
        """Decide as `decide` does, but ask nobody.

        The question is about a call of `tool` in the conversation `session_id`. If a person would
        be asked, `unanswered` is True in the result. Raises PathRefusedError for a path outside the
        root.
        """
        decision, _ = await self._decide_by_rules(question, tool, session_id)
        return decision

    async def _decide_by_rules(
        self, question: Question, tool: str, owner: UUID
    ) -> tuple[Decision, _Assessment]:
        """Decide by the rules and earlier answers.

        If a person has to decide, `unanswered` is True in the result.
        """
        if any(subject.path is not None for subject in question.subjects):
            assessment = await asyncio.to_thread(self._assess, question, tool)
        else:
            assessment = self._assess(question, tool)
        if assessment.denied is not None:
            return Decision(allowed=False, reason=assessment.denied), assessment
        granted = await self._is_granted(assessment.required, owner)
        if granted and not (assessment.protected and assessment.required):
            return Decision(allowed=True, private=frozenset(assessment.private)), assessment
        return Decision(allowed=False, reason=assessment.reason, unanswered=True), assessment

    def _assess(self, question: Question, tool: str) -> _Assessment:
        assessment = _Assessment()
        for subject in question.subjects:
            target = ResolvedSubject.of(subject, self._root)
            verdict = self._rules.verdict(tool, target, question.policy)
            if target.real is not None and target.private:
                assessment.private.add(target.real)
            match verdict.policy:
                case Policy.DENY:
                    assessment.denied = assessment.denied or verdict.reason
                case Policy.ASK if question.asked_later and not target.private:
                    pass
                case Policy.ASK:
                    program = subject.program
                    protected = target.protected if question.policy is Policy.ASK else None
                    command = subject.command or ""
                    if (shell := subject.shell) is not None:
                        protected = protected or (None if shell.leading else _NEVER_STORED)
                        command = " ".join(map(shlex.quote, shell.leading or (command,)))
                    path = target.paths[0] if target.paths else ""
                    if subject.command and protected is None:
                        path = ""  # the command contains the path
                    grant = Grant.of(tool, path, command, program)
                    assessment.required.add(grant)
                    if protected is not None:
                        assessment.protected[grant] = protected
                    started = f" The program is {program}." if program else ""
                    reason = verdict.reason or _no_rule(subject) or question.effect
                    assessment.reason = assessment.reason or f"{reason}{started}"
                case Policy.ALLOW:
                    pass
        return assessment

    async def _is_granted(self, required: set[Grant], owner: UUID) -> bool:
        open_still = required.difference(self._granted.get(owner, ()))
        if not open_still:
            return True
        if self._store is None:
            return False
        try:
            grants = await asyncio.to_thread(self._store.list_grants, self._root)
        except StoreError:  # if the store fails, the person is asked again
            return False
        return open_still <= {each.grant for each in grants}

    async def _ask(
        self, question: Question, context: ToolContext, assessment: _Assessment
    ) -> _Answer:
        event = ApprovalRequested(
            request_id=context.request_id,
            parent_id=context.parent_id,
            approval_id=new_id(),
            key=context.key,
            call_id=context.call_id,
            name=context.tool,
            summary=question.summary,
            reason=assessment.reason,
            subjects=tuple(filter(None, map(str, question.subjects))),
            proposal_id=question.proposal_id,
            preview=question.preview,
        )
        answer: asyncio.Future[_Answer] = asyncio.get_running_loop().create_future()
        self._open[event.approval_id] = _Open(
            event,
            _owner(context),
            assessment.required,
            assessment.protected,
            answer,
            writes=context.effect is ToolEffect.WRITE,
        )
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
    """Build the question whether a call of `tool` may run.

    The preview shows the parsed arguments and not the model's own text. The text may contain an
    argument twice, and a person could read the value that the tool does not use.
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
        effect=_EFFECTS[tool.effect],
        preview=json.dumps(given, ensure_ascii=False, indent=1) if given else None,
        asked_later=tool.proposes,
    )


def _no_rule(subject: Subject) -> str:
    """Name the part of a shell command that no rule allows."""
    return "" if subject.shell is None else f"No rule allows this part: {in_line(str(subject))}"


_REFUSED_BY_MODE = Decision(allowed=False, reason=READ_ONLY_REASON, read_only=True)


async def _is_read_only(context: ToolContext) -> bool:
    """Whether the mode of the conversation refuses the call."""
    return context.effect is ToolEffect.WRITE and await context.mode() is Mode.READ_ONLY


def _owner(context: ToolContext) -> UUID:
    """Return the id of the owner of session grants.

    It is the conversation, or the request if the call is in no conversation.
    """
    return context.session_id or context.request_id


def _settle(question: _Open, scope: ApprovalScope, words: str | None) -> None:
    if not question.answer.done():
        question.answer.set_result((scope, (words or "").strip() or None))
