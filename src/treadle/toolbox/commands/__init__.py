"""The tools that run shell commands."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treadle.commands.service import Commands
    from treadle.tools.contract import AnyTool

RUN_COMMAND = "run_command"
COMMAND_TOOLS = frozenset({RUN_COMMAND, "read_output", "stop_command"})
"""The tools that a model gets only if one of its commands may be allowed."""


def command_tools(commands: "Commands") -> "list[AnyTool]":
    """Return the tools that run, read and stop commands."""
    from treadle.toolbox.commands.read_output import ReadOutput
    from treadle.toolbox.commands.run_command import RunCommand
    from treadle.toolbox.commands.stop_command import StopCommand

    return [RunCommand(commands), ReadOutput(commands), StopCommand(commands)]
