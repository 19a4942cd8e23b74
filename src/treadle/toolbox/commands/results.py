"""The result of a command, cut to a token budget and without secrets."""

from typing import Literal

from treadle.commands.runner import CommandState
from treadle.commands.service import Commands, ListedRun
from treadle.errors import NotFoundError
from treadle.events.types import ErrorKind
from treadle.processes.output import Output
from treadle.secrets import redact
from treadle.tokens import estimate
from treadle.toolbox.answers import most_that_fit, written
from treadle.tools.contract import Result, ToolContext, ToolError


class CommandResult(Result):
    """A command and its output.

    `output` has the first and the last lines. `bytes` is the size of the whole output, which
    `read_output` reads with the id. `withheld` names the environment variables that the command did
    not get.
    """

    type: str = "command"
    id: str
    state: Literal["running", "exited", "killed", "timed_out", "stopped", "output_limit", "failed"]
    exit_status: int | None = None
    signal: int | None = None
    reason: str | None = None
    seconds: float
    sandbox: Literal["none"] = "none"
    output: str
    lines: int
    bytes: int
    more: str | None = None


def listed_run(commands: Commands, reference: str, context: ToolContext) -> ListedRun:
    """Return the command with the id `reference` that the conversation started.

    Raises ToolError if the conversation has no such command.
    """
    try:
        return commands.get(reference, context.session_id)
    except NotFoundError as error:
        raise ToolError(ErrorKind.NOT_FOUND, error.message, field="id", hint=error.hint) from error


def command_result(listed: ListedRun, budget: int) -> CommandResult:
    """Return the state and the output of a command within `budget` tokens."""
    output = listed.run.output
    kept = len(output.head) + len(output.tail)

    def result(lines: int) -> CommandResult:
        return _result(listed, output, lines)

    return result(most_that_fit(kept, lambda lines: estimate(written(result(lines))), budget))


def _result(listed: ListedRun, output: Output, lines: int) -> CommandResult:
    run = listed.run
    left_out = output.lines - lines
    return CommandResult(
        id=listed.name,
        state=run.state.value,
        exit_status=run.exit_status,
        signal=run.signal,
        reason=_reason(listed),
        seconds=round(run.seconds, 2),
        output=redact(_cut(output, lines)),
        lines=output.lines,
        bytes=run.file.size,
        more=f"read_output reads the whole output with the id {listed.name}." if left_out else None,
    )


def _cut(output: Output, lines: int) -> str:
    """Return the first third and the last two thirds of `lines` lines."""
    kept = [*output.head, *output.tail]
    head = min(lines // 3, len(output.head) or lines // 3)
    first, last = kept[:head], kept[len(kept) - (lines - head) :]
    dropped = output.lines - lines
    return "\n".join([*first, *([f"… {dropped:,} lines left out …"] if dropped else []), *last])


_REASONS = {
    CommandState.TIMED_OUT: "It was ended at its time limit.",
    CommandState.STOPPED: "It was stopped before it ended.",
    CommandState.OUTPUT_LIMIT: "It was ended because it printed more than commands.output_limit.",
    CommandState.KILLED: "A signal ended it.",
}


def _reason(listed: ListedRun) -> str | None:
    if listed.run.error is not None:
        return str(listed.run.error)
    return _REASONS.get(listed.run.state)
