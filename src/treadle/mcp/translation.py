"""Translates tools and outcomes of calls to the types of the Model Context Protocol."""

import json

from mcp import types

from treadle.events import Outcome
from treadle.events.types import ToolCallCompleted, ToolFailure
from treadle.tools.contract import AnyTool, Registry, ToolEffect
from treadle.tools.failures import failure_content


def listed_tools(registry: Registry) -> list[types.Tool]:
    """All tools with the descriptions and schemas of the registry.

    Without schemas of results: they would double the size, and a model can read named fields
    without them.
    """
    return [
        types.Tool(
            name=spec.name,
            description=spec.description,
            input_schema=spec.parameters,
            annotations=_annotations(tool),
        )
        for tool, spec in zip(registry, registry.specs(), strict=True)
    ]


def _annotations(tool: AnyTool) -> types.ToolAnnotations:
    reads = tool.effect is ToolEffect.READ
    spends = tool.effect is ToolEffect.SPENDS
    return types.ToolAnnotations(
        read_only_hint=reads,
        destructive_hint=tool.effect is ToolEffect.WRITE,
        idempotent_hint=reads,
        open_world_hint=spends,
    )


def call_result(outcome: Outcome) -> types.CallToolResult:
    """A success as text and as structure; a failure as the text for a model."""
    if not isinstance(outcome, ToolCallCompleted):
        return failed_result(outcome.error)
    return types.CallToolResult(
        content=[types.TextContent(text=outcome.content)],
        structured_content=json.loads(outcome.content),
    )


def failed_result(failure: ToolFailure) -> types.CallToolResult:
    """A failure. It has no structure, since that would have to match the result of a success."""
    return types.CallToolResult(
        content=[types.TextContent(text=failure_content(failure))], is_error=True
    )
