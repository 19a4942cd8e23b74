"""Groups of tools that a client can choose: one for each area of `toolbox/`."""

from collections.abc import Collection
from enum import StrEnum

from treadle.errors import UsageError
from treadle.tools.contract import AnyTool, Registry

_TOOLBOX = "treadle.toolbox."


class ToolGroup(StrEnum):
    """The groups, in the order of the list of tools."""

    CODE = "code"
    EDITS = "edits"
    CHECKS = "checks"
    TRACES = "traces"
    EXPERIMENTS = "experiments"
    UI = "ui"


ALL = "all"
DEFAULT_GROUPS = frozenset({ToolGroup.CODE})
"""The groups for a client that does not choose groups. They are few, because every schema costs
tokens in each conversation.
"""
REPOSITORY_GROUPS = frozenset({ToolGroup.CODE, ToolGroup.EDITS, ToolGroup.CHECKS})
"""The groups that do not need recorded data."""


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
    """The group of a tool. None for a tool of a front end."""
    module = type(tool).__module__
    area = module.removeprefix(_TOOLBOX).partition(".")[0] if module.startswith(_TOOLBOX) else ""
    return ToolGroup(area) if area in set(ToolGroup) else None


def in_groups(registry: Registry, groups: Collection[ToolGroup]) -> Registry:
    """The tools of these groups, in the order of `registry`."""
    return Registry(tool for tool in registry if group_of(tool) in groups)
