"""The tool contract, the registry and the dispatcher. Knows nothing of any concrete tool."""

from treadle.tools.contract import Arguments, Result, Tool, ToolContext, ToolError
from treadle.tools.dispatcher import Dispatcher
from treadle.tools.failures import failure_content
from treadle.tools.registry import Registry, ToolSchema

__all__ = [
    "Arguments",
    "Dispatcher",
    "Registry",
    "Result",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolSchema",
    "failure_content",
]
