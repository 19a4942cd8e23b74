"""Tools whose calls run at a worker if there is one, and otherwise in this process."""

from typing import Any

from treadle.events.types import ToolView
from treadle.tools.approvals.question import Policy, Subject
from treadle.tools.contract import AnyTool, Arguments, Registry, Result, Tool, ToolContext
from treadle.workers.router import WorkerRouter


def with_workers(registry: Registry, router: WorkerRouter) -> Registry:
    """Return the registry in which the calls of some tools go to workers."""
    return registry.replacing(
        routed_tool(tool, router) for tool in registry if router.may_route(tool)
    )


def routed_tool(tool: AnyTool, router: WorkerRouter) -> AnyTool:
    """Return a tool that looks like `tool`, but asks the router to run its calls."""

    class Routed(Tool[Any, Any]):
        name = tool.name
        description = tool.description
        version = tool.version
        tool_class = tool.tool_class
        place = tool.place
        effect = tool.effect
        timeout = tool.timeout
        policy = tool.policy
        proposes = tool.proposes
        arguments = tool.arguments
        result = tool.result

        async def run(self, arguments: Arguments, context: ToolContext) -> Result:
            result = await router.run(tool, arguments, context)
            if result is None:
                result = await tool.run(arguments, context)
            return result

        def writes(self, arguments: Arguments) -> frozenset[str]:
            return tool.writes(arguments)

        @property
        def asks(self) -> Policy:
            return tool.asks

        def subjects(self, arguments: Arguments) -> tuple[Subject, ...]:
            return tool.subjects(arguments)

        def is_portable(self, arguments: Arguments) -> bool:
            return tool.is_portable(arguments)

        def content(self, result: Result) -> str:
            return tool.content(result)

        def view(self, arguments: Arguments, result: Result) -> ToolView:
            return tool.view(arguments, result)

    return Routed()
