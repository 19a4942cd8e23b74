"""Builds the environment of a shell command: no secrets, no terminal, no prompts."""

from collections.abc import Collection, Mapping
from pathlib import Path

from treadle.processes.environment import Environment, program_environment

_REMOVED = frozenset({
    "BASH_ENV", "ENV", "CDPATH", "GLOBIGNORE", "PROMPT_COMMAND", "SHELLOPTS", "BASHOPTS", "IFS",
    "PS4",
    "LD_PRELOAD", "LD_AUDIT", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "GPG_TTY",
    "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DOCKER_HOST",
})  # fmt: skip
"""Variables that decide what bash runs, or that lead to other programs with rights of the user."""

_FUNCTION = "BASH_FUNC_"
"""The start of the names of variables from which bash defines functions."""

_SET = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "EDITOR": "false",
    "VISUAL": "false",
    "GIT_EDITOR": "false",
    "GIT_SEQUENCE_EDITOR": "false",
    "DEBIAN_FRONTEND": "noninteractive",
    "SSH_ASKPASS": "false",
    "GIT_ASKPASS": "false",
    "PIP_NO_INPUT": "1",
    "npm_config_yes": "false",
}
"""Variables that make programs fail or continue where they would wait for a person."""


def command_environment(
    environment: Mapping[str, str],
    root: Path,
    *,
    secret: Collection[str] = (),
    keep: Collection[str] = (),
) -> Environment:
    """Build the environment of a command in the repository at `root`. This function blocks.

    See `program_environment` for `secret` and `keep`.
    """
    given = program_environment(environment, root, secret=secret, keep=keep)
    variables = {
        name: value
        for name, value in given.variables.items()
        if name not in _REMOVED and not name.startswith(_FUNCTION)
    }
    return Environment({**variables, **_SET}, given.withheld)
