"""The tool contract, the registry and the executor. No concrete tool is defined here."""

from treadle.tools.contract import (
    Arguments,
    Registry,
    Result,
    Tool,
    ToolContext,
    ToolError,
    ToolSchema,
)
from treadle.tools.executor import ToolExecutor
from treadle.tools.failures import failure_content

__all__ = [
    "Arguments",
    "Registry",
    "Result",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolExecutor",
    "ToolSchema",
    "failure_content",
]
