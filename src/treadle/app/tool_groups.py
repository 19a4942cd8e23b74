"""Groups of tools that an MCP client can choose: one group for each area of `toolbox/`."""

from collections.abc import Collection
from enum import StrEnum

from treadle.errors import UsageError
from treadle.tools.contract import AnyTool, Registry

_TOOLBOX = "treadle.toolbox."


class ToolGroup(StrEnum):
    """The groups, in the order in which the list of tools contains them."""

    CODE = "code"
    EDITS = "edits"
    CHECKS = "checks"
    PLAN = "plan"
    COMMANDS = "commands"
    SUB_TASKS = "sub_tasks"
    TRACES = "traces"
    EXPERIMENTS = "experiments"
    UI = "ui"


ALL = "all"
DEFAULT_GROUPS = frozenset({ToolGroup.CODE})
"""The groups for a client that chooses no groups.

The set has only one group, because every tool schema costs tokens in each conversation.
"""
REPOSITORY_GROUPS = frozenset({
    ToolGroup.CODE, ToolGroup.EDITS, ToolGroup.CHECKS, ToolGroup.PLAN, ToolGroup.COMMANDS,
    ToolGroup.SUB_TASKS,
})  # fmt: skip
"""The groups whose tools do not need recorded data."""


def groups_named(text: str) -> frozenset[ToolGroup]:
    """Parse a comma-separated list of groups, such as "code,edits" or "all".

    Raises UsageError for an unknown group.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    if ALL in names:
        return frozenset(ToolGroup)
    unknown = [name for name in names if name not in set(ToolGroup)]
    if unknown or not names:
        problem = (
            f"There is no tool group {unknown[0][:40]!r}." if unknown else "No tool group is named."
        )
        raise UsageError(problem, hint=f"The groups are {', '.join(ToolGroup)}, and {ALL}.")
    return frozenset(map(ToolGroup, names))


def group_of(tool: AnyTool) -> ToolGroup | None:
    """Return the group of a tool, or None if a front end runs the tool."""
    module = type(tool).__module__
    area = module.removeprefix(_TOOLBOX).partition(".")[0] if module.startswith(_TOOLBOX) else ""
    return ToolGroup(area) if area in set(ToolGroup) else None


def in_groups(registry: Registry, groups: Collection[ToolGroup]) -> Registry:
    """Return the tools of these groups, in the order of `registry`."""
    return Registry(tool for tool in registry if group_of(tool) in groups)
