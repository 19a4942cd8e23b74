"""Groups of tools, by the area of `toolbox/` that a tool is in: what a client may be offered."""

from collections.abc import Collection
from enum import StrEnum

from treadle.errors import UsageError
from treadle.tools.registry import AnyTool, Registry

_TOOLBOX = "treadle.toolbox."


class ToolGroup(StrEnum):
    """The areas, in the order in which their tools are listed."""

    CODE = "code"
    EDITS = "edits"
    CHECKS = "checks"
    TRACES = "traces"
    EXPERIMENTS = "experiments"
    UI = "ui"


ALL = "all"
DEFAULT_GROUPS = frozenset({ToolGroup.CODE})
"""What a client is offered that does not choose: every schema costs tokens in each conversation."""
REPOSITORY_GROUPS = frozenset({ToolGroup.CODE, ToolGroup.EDITS, ToolGroup.CHECKS})
"""The groups that need no recorded data."""


def groups_named(text: str) -> frozenset[ToolGroup]:
    """The groups of a comma list, such as "code,edits" or "all".

    Raises UsageError for a name that is not a group.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    if ALL in names:
        return frozenset(ToolGroup)
    unknown = [name for name in names if name not in set(ToolGroup)]
    if unknown or not names:
        what = (
            f"There is no tool group {unknown[0][:40]!r}." if unknown else "No tool group is named."
        )
        raise UsageError(what, hint=f"The groups are {', '.join(ToolGroup)}, and {ALL}.")
    return frozenset(map(ToolGroup, names))


def group_of(tool: AnyTool) -> ToolGroup | None:
    """The group of a tool; None for a tool of a front end."""
    module = type(tool).__module__
    area = module.removeprefix(_TOOLBOX).partition(".")[0] if module.startswith(_TOOLBOX) else ""
    return ToolGroup(area) if area in set(ToolGroup) else None


def in_groups(registry: Registry, groups: Collection[ToolGroup]) -> Registry:
    """The tools of those groups, in the same order."""
    return Registry(tool for tool in registry if group_of(tool) in groups)
