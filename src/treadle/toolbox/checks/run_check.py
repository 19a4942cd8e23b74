"""run_check: a test run, build or linter of the project, by name."""

from pydantic import Field

from treadle.checks.service import Checks
from treadle.toolbox.budget import DEFAULT_TOKENS, MaxTokens
from treadle.tools.contract import (
    Arguments,
    Policy,
    Result,
    Subject,
    Tool,
    ToolClass,
    ToolContext,
    ToolEffect,
)


class RunCheckArguments(Arguments):
    """Which check, and of what."""

    check: str | None = Field(
        default=None, description="Name of the check; left out: list the checks that there are."
    )
    paths: list[str] = Field(
        default_factory=list,
        max_length=100,
        description="Files or folders to check, where the check takes paths; empty: all. A test "
        "run also takes `file::test`.",
    )
    proposal: str | None = Field(
        default=None,
        description="Id of a proposal of edits: check a copy of the repository with it applied.",
    )
    max_tokens: MaxTokens = DEFAULT_TOKENS


class RunCheckResult(Result):
    """What there is to run, or what came of a run."""

    type: str = "check"


class RunCheck(Tool[RunCheckArguments, RunCheckResult]):
    """Runs checks, each after a question for its exact command."""

    name = "run_check"
    description = (
        "Run a test, build, lint or type check of this project and read its result: status, "
        "counts, and what is wrong, with file and line. Use it after an edit, or before one is "
        "approved with the id of its proposal. Call it without a check to learn which there are."
    )
    tool_class = ToolClass.BACKGROUND
    effect = ToolEffect.WRITE
    policy = Policy.ASK
    arguments = RunCheckArguments
    result = RunCheckResult

    def __init__(self, checks: Checks) -> None:
        self._checks = checks

    def subjects(self, arguments: RunCheckArguments) -> tuple[Subject, ...]:  # noqa: ARG002
        return ()  # the question is asked when the exact command is known

    async def run(self, arguments: RunCheckArguments, context: ToolContext) -> RunCheckResult:
        raise NotImplementedError
