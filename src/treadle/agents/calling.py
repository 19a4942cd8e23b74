"""`call_NAME`: another agent as a tool. Its answer is the result, unchanged."""

import json
from collections.abc import Awaitable, Callable
from typing import Annotated

from pydantic import Field, StringConstraints

from treadle.agents.definitions import CALL, Agent
from treadle.events.types import ErrorKind, StopReason, ToolView
from treadle.session import SessionOutcome
from treadle.tools.contract import Arguments, Result, Tool, ToolClass, ToolContext, ToolError

MOST_CALLS = 6
"""Of sub-agents by one session: what is not found by then is not found by asking once more."""


GRACE_SECONDS = 15.0
"""How much longer a call waits than its agent may take, which then says itself why it ended."""


class CallArguments(Arguments):
    """What the agent is to do."""

    task: Annotated[str, StringConstraints(min_length=1, max_length=20_000)] = Field(
        description="The complete task: the agent knows nothing of this conversation except "
        "what the person has on the screen. Include ids."
    )


class CallResult(Result):
    """What the agent answered."""

    type: str = "agent"
    agent: str
    answer: str


class CalledAnswers:
    """What the agents answered in one session, and what they were asked."""

    def __init__(self) -> None:
        self._asked: set[tuple[str, str]] = set()
        self._answers: dict[str, str] = {}

    def answer_of(self, name: str) -> str | None:
        """The last answer of that agent."""
        return self._answers.get(name)

    def ask(self, name: str, task: str) -> None:
        """Count a call. Raises ToolError when it was made before, or when there are too many."""
        asked = (name, " ".join(task.split()).lower())
        if asked in self._asked:
            raise ToolError(
                ErrorKind.CONFLICT,
                f"The agent {name} already received exactly this task.",
                hint="Use its answer, give it another task, or end with final.",
            )
        if len(self._asked) >= MOST_CALLS:
            raise ToolError(
                ErrorKind.LIMIT,
                f"Agents were called {MOST_CALLS} times in this session, which is the limit.",
                hint="End with final: say what was found and what was not.",
            )
        self._asked.add(asked)

    def take(self, name: str, answer: str) -> None:
        """Keep an answer."""
        self._answers[name] = answer


Run = Callable[[Agent, str, ToolContext], Awaitable[SessionOutcome]]
"""Runs an agent on a task, as a part of a call."""


class CallAgent(Tool[CallArguments, CallResult]):
    """Runs another agent in a session of its own, as a part of the call."""

    tool_class = ToolClass.BACKGROUND
    arguments = CallArguments
    result = CallResult

    def __init__(self, agent: Agent, run: Run, answers: CalledAnswers) -> None:
        self._agent = agent
        self._run = run
        self._answers = answers

    async def run(self, arguments: CallArguments, context: ToolContext) -> CallResult:
        self._answers.ask(self._agent.name, arguments.task)
        outcome = await self._run(self._agent, arguments.task, context)
        if outcome.stop_reason is not StopReason.COMPLETED:
            raise ToolError(
                ErrorKind.LIMIT,
                f"The agent {self._agent.name} stopped before it finished: "
                f"{outcome.stop_reason.value.replace('_', ' ')}.",
                received=outcome.text or None,
                hint="Give it a smaller task, or answer from the results so far.",
            )
        self._answers.take(self._agent.name, outcome.text)
        return CallResult(agent=self._agent.name, answer=outcome.text)

    def content(self, result: CallResult) -> str:
        """The answer as it is."""
        return result.answer

    def view(self, arguments: CallArguments, result: CallResult) -> ToolView:  # noqa: ARG002
        task = json.dumps(arguments.task, ensure_ascii=False)
        return ToolView(summary=f"{self._agent.name}: done", fields=(("task", task),))


def call_agent(agent: Agent, run: Run, answers: CalledAnswers) -> CallAgent:
    """The tool that calls `agent`; `answers` are those of the session that it is for."""

    class Named(CallAgent):
        name = f"{CALL}{agent.name}"
        description = agent.header.description
        timeout = agent.header.limits.seconds + GRACE_SECONDS

    return Named(agent, run, answers)
