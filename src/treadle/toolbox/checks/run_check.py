"""run_check: runs a test, build, lint or type check of the project, selected by name."""

import asyncio
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from treadle.checks.model import Check, CheckRun, CheckStatus, Diagnostic
from treadle.checks.service import Checks
from treadle.config.model import MAX_CHECK_SECONDS
from treadle.errors import NotFoundError, UsageError
from treadle.events.types import ErrorKind, ToolView
from treadle.tokens import estimate
from treadle.toolbox.answers import DEFAULT_TOKENS, MaxTokens, most_that_fit
from treadle.toolbox.wording import counted, tallied
from treadle.tools.approvals.question import Policy, Program, Question, Subject
from treadle.tools.contract import (
    EVERYTHING,
    Arguments,
    Result,
    Tool,
    ToolClass,
    ToolContext,
    ToolEffect,
    ToolError,
)

PASSED_LINES = 10
"""The maximum number of output lines in the result of a check that passed."""

HEAD_LINES = 20
"""The maximum number of lines in `head`, for a failed check without diagnostics."""

_NONE_FOUND = (
    "No checks were found in the project's files; a person can set them in [checks.commands] of "
    "the configuration."
)

_ENDING_SECONDS = 60.0
"""Seconds that are added to the longest timeout of a check.

This time allows for copying the repository and for ending processes.
"""


class RunCheckArguments(Arguments):
    """The check to run, and the files to check."""

    check: str | None = Field(
        default=None, description="Name of the check. Default: list the available checks."
    )
    paths: list[str] = Field(
        default_factory=list,
        max_length=100,
        description="Files or folders to check, if the check takes paths; empty: all. "
        "pytest also takes `file::test`.",
    )
    proposal: str | None = Field(
        default=None,
        description="Id of an edit proposal: check a copy of the repository with the "
        "proposal applied; the repository stays unchanged.",
    )
    max_tokens: MaxTokens = DEFAULT_TOKENS


class AvailableCheck(BaseModel):
    """A check that can be run.

    `origin` names the file that defines the check, or says that the configuration defines it.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    command: str
    kind: Literal["test", "build", "lint", "types"]
    origin: str
    takes_paths: bool
    installed: bool


class CheckDiagnostic(BaseModel):
    """A problem that a check reports, with its location.

    `code` is the name of a rule, an error number, or the id of a test.
    """

    model_config = ConfigDict(frozen=True)

    file: str
    line: int | None = None
    column: int | None = None
    severity: Literal["error", "warning", "note"]
    code: str | None = None
    message: str


class RunCheckResult(Result):
    """The result of a check, or the available checks if the call names no check.

    `counts` has the totals that the checking program reports, such as passed tests. `tail` has the
    last lines of the output. `head` has the first lines, if a failed check has no diagnostics.
    `total_diagnostics` is the number of all diagnostics, including diagnostics that are not shown.
    `scratch` is true if the check ran in a copy of the repository.
    """

    type: str = "check"
    checks: list[AvailableCheck] | None = None
    check: str | None = None
    status: Literal["passed", "failed", "timed_out", "error"] | None = None
    reason: str | None = None
    command: str | None = None
    exit_status: int | None = None
    seconds: float | None = None
    counts: dict[str, int] | None = None
    diagnostics: list[CheckDiagnostic] | None = None
    total_diagnostics: int | None = None
    head: str | None = None
    tail: str | None = None
    scratch: bool | None = None
    more: str | None = None


class RunCheck(Tool[RunCheckArguments, RunCheckResult]):
    """Runs a check after its exact command is approved.

    A failed check is a result, not a tool error.
    """

    name = "run_check"
    description = (
        "Run a test, build, lint or type check of this project: status, counts, and problems with "
        "file and line. Use it after an edit, or with a proposal's id before an edit. Call it "
        "without `check` to list the checks; it runs no other commands."
    )
    tool_class = ToolClass.BACKGROUND
    effect = ToolEffect.WRITE
    timeout = MAX_CHECK_SECONDS + _ENDING_SECONDS  # a check's own timeout is always shorter
    policy = Policy.ASK
    arguments = RunCheckArguments
    result = RunCheckResult

    def __init__(self, checks: Checks) -> None:
        self._checks = checks

    def writes(self, arguments: RunCheckArguments) -> frozenset[str]:
        in_place = arguments.check is not None and arguments.proposal is None
        return frozenset({EVERYTHING}) if in_place else frozenset()

    def subjects(self, arguments: RunCheckArguments) -> tuple[Subject, ...]:  # noqa: ARG002
        return ()  # `run` asks for approval of the exact command; a list needs no approval

    def is_portable(self, arguments: RunCheckArguments) -> bool:
        return arguments.proposal is None  # a worker does not have the proposals of this server

    async def run(self, arguments: RunCheckArguments, context: ToolContext) -> RunCheckResult:
        if arguments.check is None:
            return await self._list(arguments.max_tokens)
        try:
            check = await self._checks.get(arguments.check)
            paths = await asyncio.to_thread(self._checks.paths, check, arguments.paths)
        except (NotFoundError, UsageError) as error:  # raised before any program starts
            unknown = isinstance(error, NotFoundError)
            raise ToolError(
                ErrorKind.NOT_FOUND if unknown else ErrorKind.VALIDATION,
                error.message,
                field="check" if unknown else "paths",
                hint=error.hint,
            ) from error
        program = await self._ask(check, paths, arguments, context)
        ran = await self._checks.run(
            check,
            clock=context.clock,
            progress=context.report,
            paths=paths,
            proposal=arguments.proposal,
            allowed=program,
        )
        return self._fitted(ran, arguments.max_tokens)

    def view(self, arguments: RunCheckArguments, result: RunCheckResult) -> ToolView:  # noqa: ARG002
        if result.checks is not None:
            return ToolView(counted(len(result.checks), "check"))
        counts = tallied(result.counts or {})
        status = (result.status or "").replace("_", " ")
        where = " in a copy" if result.scratch else ""
        about = f" ({counts})" if counts else ""
        return ToolView(
            f"{result.check}: {status}{about}{where}, {result.seconds:.1f} s",
            details="\n".join(map(_written, result.diagnostics or ())) or result.tail,
        )

    async def _list(self, budget: int) -> RunCheckResult:
        checks = await self._checks.find()
        installed = await asyncio.to_thread(lambda: list(map(self._checks.is_installed, checks)))
        rows = [
            AvailableCheck(
                name=check.name,
                command=check.command(),
                kind=check.kind,
                origin=check.origin,
                takes_paths=check.takes_paths,
                installed=is_there,
            )
            for check, is_there in zip(checks, installed, strict=True)
        ]

        def listed(number: int) -> RunCheckResult:
            left_out = len(rows) - number
            more = f"Not shown: {counted(left_out, 'check')}. Call again with a larger max_tokens."
            return RunCheckResult(checks=rows[:number], more=more if left_out else None)

        if not rows:
            return RunCheckResult(checks=[], more=_NONE_FOUND)
        return listed(most_that_fit(len(rows), lambda n: estimate(self.content(listed(n))), budget))

    async def _ask(
        self,
        check: Check,
        paths: tuple[str, ...],
        arguments: RunCheckArguments,
        context: ToolContext,
    ) -> Program | None:
        """Ask for approval of the command with these paths, and return the program that it runs.

        If the proposal changes files that the check runs, every call needs approval, because nobody
        has approved the new content. Raises ToolError if the command is not allowed.
        """
        command = check.command(paths)
        where = f" with the proposal {arguments.proposal}, in a copy" if arguments.proposal else ""
        program = await asyncio.to_thread(self._checks.program, check)
        changed: tuple[tuple[str, str], ...] = ()
        if arguments.proposal is not None:
            changed = await asyncio.to_thread(self._checks.run_by, check, arguments.proposal)
        question = Question(
            (
                Subject(command=command, program=program),
                *(
                    Subject(path=path.partition("::")[0], command=command, program=program)
                    for path in paths
                ),
                *(
                    Subject(path=path, command=command, program=program, protected=reason)
                    for path, reason in changed
                ),
            ),
            self.asks,
            f"run {command}{where}",
            effect="It runs code of this repository with your rights.",
        )
        decision = await context.approve(question)
        if not decision.allowed:
            raise ToolError.of(decision.failure(question.summary))
        return program

    def _fitted(self, ran: CheckRun, budget: int) -> RunCheckResult:
        """Cut the result to `budget` tokens.

        If there are diagnostics, a third of the budget is reserved for the last lines of the
        output.
        """
        found = len(ran.reading.diagnostics)
        end = len(ran.output.tail)
        if ran.status is CheckStatus.PASSED:
            end = min(end, PASSED_LINES)

        def tokens(diagnostics: int, lines: int) -> int:
            return estimate(self.content(_result(ran, diagnostics, lines)))

        share = budget // 3 if found else budget
        lines = most_that_fit(end, lambda number: tokens(0, number), share)
        shown = most_that_fit(found, lambda number: tokens(number, lines), budget)
        lines = most_that_fit(end, lambda number: tokens(shown, number), budget)
        return _result(ran, shown, lines)


def _result(ran: CheckRun, diagnostics: int, lines: int) -> RunCheckResult:
    """Build a result with the first diagnostics and the last output lines.

    `diagnostics` and `lines` are the numbers of diagnostics and lines to show.
    """
    found, output = ran.reading, ran.output
    tail = output.tail[-lines:] if lines else ()
    unexplained = ran.status is not CheckStatus.PASSED and not found.total
    first = output.head or output.tail
    head = first[: min(HEAD_LINES, output.lines - lines)] if unexplained else ()
    return RunCheckResult(
        check=ran.check.name,
        status=ran.status.value,
        reason=ran.reason,
        command=ran.command,
        exit_status=ran.exit_status,
        seconds=round(ran.seconds, 2),
        counts=dict(found.counts) or None,
        diagnostics=[_described(each) for each in found.diagnostics[:diagnostics]],
        total_diagnostics=found.total,
        head="\n".join(head) or None,
        tail="\n".join(tail),
        scratch=ran.scratch or None,
        more=_more(found.total - diagnostics, output.lines - lines - len(head), ran.status),
    )


def _more(diagnostics: int, lines: int, status: CheckStatus) -> str | None:
    """Return a sentence about the omitted diagnostics and lines.

    Returns None if nothing was omitted, or if only lines of a passed check were omitted.
    """
    left_out = [counted(diagnostics, "diagnostic")] if diagnostics else []
    if lines and status is not CheckStatus.PASSED:
        left_out.append(f"{counted(lines, 'line')} of output")
    if not left_out:
        return None
    return (
        f"Not shown: {' and '.join(left_out)}. Call again with a larger max_tokens, or check fewer "
        "paths."
    )


def _described(diagnostic: Diagnostic) -> CheckDiagnostic:
    return CheckDiagnostic(
        file=diagnostic.file,
        line=diagnostic.line,
        column=diagnostic.column,
        severity=diagnostic.severity.value,
        code=diagnostic.code,
        message=diagnostic.message,
    )


def _written(diagnostic: CheckDiagnostic) -> str:
    location = ":".join(
        str(part) for part in (diagnostic.file, diagnostic.line, diagnostic.column) if part
    )
    code = f" [{diagnostic.code}]" if diagnostic.code else ""
    return f"{location}: {diagnostic.severity}: {diagnostic.message}{code}"
