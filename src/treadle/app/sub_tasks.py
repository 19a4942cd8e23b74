"""Answers questions of a model in fresh request sessions that only read.

A sub-session has no tool that starts another one, so the depth is 1. Its usage counts for the
session that asks, and it never asks a person.
"""

import asyncio
import logging
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from treadle.agents.nested import new_conversation, stricter_limits
from treadle.app.application import App
from treadle.config.model import LimitSettings
from treadle.errors import TreadleError
from treadle.events.types import Mode, SourceRange, StopReason
from treadle.llm.chat_model import ChatModel
from treadle.session import AutomaticContext, RequestSession, SessionOutcome
from treadle.session.calibration import Calibration
from treadle.session.role import Role, system_prompt
from treadle.tokens import estimate
from treadle.toolbox.sub_tasks.ask_code import SubTaskAnswer
from treadle.tools.contract import Registry, ToolContext, ToolEffect, ToolPlace

_log = logging.getLogger(__name__)

ANSWER_TOKENS = 1_200
"""The maximum number of tokens of one answer."""

_MAX_SOURCES = 20

_TIME_SHARE = 0.9
"""The fraction of the remaining time that the questions may take.

They then end with their answers so far, before the time limit of the call ends the call.
"""

_TASK = (
    "- You answer one question of another assistant, which sees only your last reply. Answer in at "
    "most 300 words, and cite each claim as path:line or path:first-last, with lines that the "
    "tools returned."
)

_CITED = re.compile(r"([\w./@+-]*\w):(\d{1,7})(?:-(\d{1,7}))?")


@dataclass(slots=True)
class SubTasks:
    """Answers the questions of one session. Set `parent` to this session before it runs."""

    app: App
    model: ChatModel
    calibration: Calibration
    context: AutomaticContext | None
    parent: RequestSession | None = None
    """The session whose calls ask the questions."""

    async def answer(self, questions: Sequence[str], context: ToolContext) -> list[SubTaskAnswer]:
        """Answer the questions, several at once.

        A failure of one question does not affect the others. If the caller is cancelled, all
        sessions are cancelled.
        """
        assert self.parent is not None
        limits = self._limits(self.parent.remaining(), len(questions))
        slots = asyncio.Semaphore(self.app.settings.sub_tasks.max_concurrent)
        answered = 0

        async def answer(question: str) -> SubTaskAnswer:
            nonlocal answered
            async with slots:
                found = await self._answer(question, limits, context)
            answered += 1
            await context.report(f"{answered} of {len(questions)} questions answered")
            return found

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(answer(question)) for question in questions]
        return [task.result() for task in tasks]

    def _limits(self, left: LimitSettings, questions: int) -> LimitSettings:
        """Return the limits of each question: an equal part of what is left, and the settings."""
        own, whole = self.app.settings.sub_tasks, self.app.settings.tools.background_timeout
        rounds = math.ceil(questions / own.max_concurrent)
        seconds = min(whole, left.seconds or whole) * _TIME_SHARE / rounds
        part = left.model_copy(
            update={
                "tokens": None if left.tokens is None else max(1, left.tokens // questions),
                "cost": None if left.cost is None else left.cost / questions,
                "seconds": seconds,
            }
        )
        return stricter_limits(part, {"tokens": own.tokens, "seconds": own.seconds})

    async def _answer(
        self, question: str, limits: LimitSettings, context: ToolContext
    ) -> SubTaskAnswer:
        session = self._session(limits, context)
        try:
            outcome = await session.run(question)
        except TreadleError as error:
            return SubTaskAnswer(question=question, error=str(error))
        except Exception as error:  # noqa: BLE001  (the other questions still get their answers)
            _log.exception("A question of ask_code failed")
            return SubTaskAnswer(question=question, error=f"Unexpected {type(error).__name__}.")
        finally:
            assert self.parent is not None
            self.parent.count(session)
        return _answer_of(question, outcome)

    def _session(self, limits: LimitSettings, context: ToolContext) -> RequestSession:
        tools = self._tools()
        root = str(self.app.root)
        settings = self.app.settings
        turns = min(settings.tools.max_turns, settings.sub_tasks.turns)
        conversation = new_conversation(
            self.app.root, self.app.clock, model=f"{self.model.provider}/{self.model.model}"
        )
        return RequestSession(
            executor=self.app.executor,
            model=self.model,
            registry=tools,
            conversation=conversation,
            role=Role(
                "ask_code",
                f"{system_prompt(root, tools.names())}\n{_TASK}",
                parent_id=context.request_id,
                parent_key=context.key,
            ),
            settings=settings.tools.model_copy(update={"max_turns": turns}),
            limits=limits,
            history=settings.history,
            calibration=self.calibration,
            automatic_context=self.context,
            mode=_read_only,
            asks_person=False,
            clock=self.app.clock,
        )

    def _tools(self) -> Registry:
        """Return the tools of Treadle that only read the repository."""
        return Registry(
            tool
            for tool in self.app.code_tools
            if tool.effect is ToolEffect.READ and tool.place is ToolPlace.SYSTEM
        )


async def _read_only() -> Mode:
    return Mode.READ_ONLY


def _answer_of(question: str, outcome: SessionOutcome) -> SubTaskAnswer:
    verified, unverified = checked_citations(outcome.text, outcome.sources)
    text = outcome.text
    if estimate(text) > ANSWER_TOKENS:
        text = f"{text[: ANSWER_TOKENS * 3]}… (cut)"
    completed = outcome.stop_reason is StopReason.COMPLETED
    return SubTaskAnswer(
        question=question,
        answer=text,
        sources=verified[:_MAX_SOURCES],
        unverified=unverified[:_MAX_SOURCES] or None,
        stopped=None if completed else outcome.stop_reason.value,
        error=None if text.strip() else "The model gave no answer.",
    )


def checked_citations(text: str, sources: Iterable[SourceRange]) -> tuple[list[str], list[str]]:
    """Return the citations of `text` whose lines are all in `sources`, and the others.

    A citation is a path with a line or a range of lines, such as `src/a.py:3-9`.
    """
    received: dict[str, set[int]] = {}
    for each in sources:
        received.setdefault(each.file, set()).update(range(each.start_line, each.end_line + 1))
    found: dict[str, bool] = {}
    for path, first, last in _CITED.findall(text):
        start, end = int(first), int(last or first)
        known = received.get(path.removeprefix("./"), set())
        is_known = (
            start <= end and len(known) >= end - start and known.issuperset(range(start, end + 1))
        )
        if known or "." in path or "/" in path:
            found[f"{path}:{first}" + (f"-{last}" if last else "")] = is_known
    return [name for name, ok in found.items() if ok], [n for n, ok in found.items() if not ok]
