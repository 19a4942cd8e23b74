"""The tools that only agents have: `call_NAME` calls another agent, and `final` ends a session."""

import json
from collections.abc import Awaitable, Callable
from typing import Annotated

from pydantic import Field, StringConstraints

from treadle.agents.definitions import CALL, FINAL, Agent
from treadle.diagnosis.quote_verification import SpanSource, VerifiedAnswer, verify_answer
from treadle.events.types import ErrorKind, StopReason, ToolView
from treadle.session import SessionOutcome
from treadle.tools.contract import Arguments, Result, Tool, ToolClass, ToolContext, ToolError
from treadle.traces.fencing import inline

MAX_CALLS = 6
"""The maximum number of calls that one session makes to agents."""
GRACE_SECONDS = 15.0
"""The time limit of a call is this many seconds longer than the time limit of the called agent.

Therefore the agent can report its own time-out before the call ends.
"""
REPORTED_LINES = 3
"""The maximum number of wrong lines that an error of the tool `final` quotes from an answer."""


class CallArguments(Arguments):
    """The task of the called agent."""

    task: Annotated[str, StringConstraints(min_length=1, max_length=20_000)] = Field(
        description="The complete task: the agent knows nothing of this conversation except "
        "what the person has on the screen. Include ids."
    )


class CallResult(Result):
    """The answer of the called agent."""

    type: str = "agent"
    agent: str
    answer: str


class AgentCalls:
    """The calls that one session makes to agents, and the last answer of each called agent."""

    def __init__(self) -> None:
        self._tasks: set[tuple[str, str]] = set()
        self._answers: dict[str, str] = {}

    def last_answer(self, name: str) -> str | None:
        """The last answer of the agent `name`, or None if it has not answered yet."""
        return self._answers.get(name)

    def count(self, name: str, task: str) -> None:
        """Count a call of the agent `name`.

        Raises ToolError if the agent already had the same task, or if the session has made
        `MAX_CALLS` calls.
        """
        key = (name, " ".join(task.split()).lower())
        if key in self._tasks:
            raise ToolError(
                ErrorKind.CONFLICT,
                f"The agent {name} already received exactly this task.",
                hint="Use its answer, give it another task, or end with final.",
            )
        if len(self._tasks) >= MAX_CALLS:
            raise ToolError(
                ErrorKind.LIMIT,
                f"Agents were called {MAX_CALLS} times in this session, which is the limit.",
                hint="End with final: say what was found and what was not.",
            )
        self._tasks.add(key)

    def keep_answer(self, name: str, answer: str) -> None:
        """Replace the last answer of the agent `name` by `answer`."""
        self._answers[name] = answer


RunAgent = Callable[[Agent, str, ToolContext], Awaitable[SessionOutcome]]
"""Runs an agent on a task within a tool call, and returns the outcome of the agent's session."""


class CallAgent(Tool[CallArguments, CallResult]):
    """Runs another agent in a session of its own. The result of the call is the agent's answer."""

    tool_class = ToolClass.BACKGROUND
    arguments = CallArguments
    result = CallResult

    def __init__(self, agent: Agent, run_agent: RunAgent, calls: AgentCalls) -> None:
        self._agent = agent
        self._run_agent = run_agent
        self._calls = calls

    async def run(self, arguments: CallArguments, context: ToolContext) -> CallResult:
        self._calls.count(self._agent.name, arguments.task)
        outcome = await self._run_agent(self._agent, arguments.task, context)
        if outcome.stop_reason is not StopReason.COMPLETED:
            raise ToolError(
                ErrorKind.LIMIT,
                f"The agent {self._agent.name} stopped before it finished: "
                f"{outcome.stop_reason.value.replace('_', ' ')}.",
                received=outcome.text or None,
                hint="Give it a smaller task, or answer from the results so far.",
            )
        self._calls.keep_answer(self._agent.name, outcome.text)
        return CallResult(agent=self._agent.name, answer=outcome.text)

    def content(self, result: CallResult) -> str:
        """The content of the tool message is the answer, unchanged."""
        return result.answer

    def view(self, arguments: CallArguments, result: CallResult) -> ToolView:  # noqa: ARG002
        task = json.dumps(arguments.task, ensure_ascii=False)
        return ToolView(summary=f"{self._agent.name}: done", fields=(("task", task),))


def call_agent(agent: Agent, run_agent: RunAgent, calls: AgentCalls) -> CallAgent:
    """Create the tool that calls `agent`.

    `calls` counts the calls that one session makes to agents.
    """

    class Named(CallAgent):
        name = f"{CALL}{agent.name}"
        description = agent.header.description
        timeout = agent.header.limits.seconds + GRACE_SECONDS

    return Named(agent, run_agent, calls)


class FinalArguments(Arguments):
    """The answer, or the agent whose answer is forwarded."""

    answer: Annotated[str, StringConstraints(max_length=200_000)] = Field(
        "", description="The whole answer for the person, in Markdown."
    )
    pass_on: str | None = Field(
        None,
        description="Instead of an answer: the agent whose last answer is passed on unchanged.",
    )


class FinalResult(Result):
    """The answer that the session ends with."""

    type: str = FINAL
    answer: str


class Final(Tool[FinalArguments, FinalResult]):
    """The tool with which an agent gives its answer and ends its session."""

    name = FINAL
    description = (
        "Give the answer and end. Call it once, alone, when you are done. With pass_on, the "
        "last answer of an agent that you called becomes your answer, unchanged."
    )
    arguments = FinalArguments
    result = FinalResult

    def __init__(self, calls: AgentCalls, source: SpanSource | None = None) -> None:
        """Create the tool. `calls` has the answers of other agents, which `pass_on` can forward.

        The tool compares an answer with the spans of `source`. If quotes or links in it are wrong,
        the tool refuses the answer once, so that the model can correct it. From a later answer, the
        tool removes the lines with wrong quotes or links. If `source` is None, the tool compares
        nothing.
        """
        self._calls = calls
        self._source = source
        self._refused = False

    async def run(self, arguments: FinalArguments, context: ToolContext) -> FinalResult:
        if arguments.pass_on is not None:
            answer = self._calls.last_answer(arguments.pass_on.removeprefix(CALL))
            if answer is None:
                raise ToolError(
                    ErrorKind.VALIDATION,
                    "That agent has no answer to pass on.",
                    field="pass_on",
                    received=arguments.pass_on,
                    hint="Call the agent first, or give the answer yourself.",
                )
            return FinalResult(answer=answer)
        if not arguments.answer.strip():
            raise ToolError(
                ErrorKind.VALIDATION,
                "The answer is empty.",
                field="answer",
                hint="Say what you found, or that you found nothing.",
            )
        return FinalResult(answer=await self._verified(arguments.answer, context))

    async def _verified(self, answer: str, context: ToolContext) -> str:
        """Return the answer without the lines that the recorded spans do not confirm.

        These are lines with a wrong quote or link. Raises ToolError for the first answer with such
        lines.
        """
        source = self._source
        if source is None:
            return answer
        verified = await context.in_thread(lambda: verify_answer(answer, source))
        if verified.dropped and not self._refused:
            self._refused = True
            lines = "; ".join(inline(line) for line in verified.dropped[:REPORTED_LINES])
            raise ToolError(
                ErrorKind.VALIDATION,
                "The answer links spans that are not recorded, or quotes text that is not in "
                f"the linked span: {lines}.",
                field="answer",
                hint="Quote exactly, link the span that contains the quote, or remove the line.",
            )
        return omit_wrong_lines(verified)

    def content(self, result: FinalResult) -> str:
        """The content of the tool message is the answer, unchanged."""
        return result.answer


def omit_wrong_lines(verified: VerifiedAnswer) -> str:
    """The answer without the lines that the recorded spans do not confirm.

    A note at the end of the answer states the number of omitted lines.
    """
    lines = len(verified.dropped)
    if not lines:
        return verified.text
    subject = "1 line is" if lines == 1 else f"{lines} lines are"
    return f"{verified.text.rstrip()}\n\n({subject} omitted: the record does not confirm it.)"
