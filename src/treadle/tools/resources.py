"""What calls write: which may run together, and which have to wait for one another."""

from collections.abc import Set as AbstractSet

from treadle.tools.arguments import parse_arguments
from treadle.tools.contract import EVERYTHING, ToolEffect, ToolError
from treadle.tools.registry import AnyTool


def write_set(tool: AnyTool | None, arguments: str) -> AbstractSet[str]:
    """The resources that a call would write; none where its arguments do not even fit."""
    if tool is None or tool.effect is ToolEffect.READ:
        return frozenset()
    try:
        return tool.writes(parse_arguments(tool.name, tool.arguments, arguments))
    except ToolError:
        return frozenset()


def meet(one: AbstractSet[str], other: AbstractSet[str]) -> bool:
    """Whether two calls write the same thing."""
    if not one or not other:
        return False
    return EVERYTHING in one or EVERYTHING in other or not one.isdisjoint(other)
