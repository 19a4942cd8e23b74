"""The registry: the tools by name, in a stable order."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from treadle.tools.contract import Tool
from treadle.tools.schemas import JsonSchema, schema_of

AnyTool = Tool[Any, Any]


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool as a model receives it. `parameters` is the JSON schema of its arguments."""

    name: str
    description: str
    parameters: JsonSchema


class Registry:
    """The tools of one session, in the given order."""

    def __init__(self, tools: Iterable[AnyTool]) -> None:
        """Raises ValueError when two tools have the same name."""
        self._tools: dict[str, AnyTool] = {}
        for tool in tools:
            if tool.name in self._tools:
                raise ValueError(f"two tools are named {tool.name}")
            self._tools[tool.name] = tool
        self._specs = tuple(
            ToolSchema(tool.name, tool.description, schema_of(tool.arguments)) for tool in self
        )

    def __iter__(self) -> Iterator[AnyTool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def get(self, name: str) -> AnyTool | None:
        """The tool of that name, or None."""
        return self._tools.get(name)

    def only(self, names: Collection[str]) -> "Registry":
        """A registry of the tools with these names, in the same order."""
        return Registry(tool for tool in self if tool.name in names)

    def with_tools(self, tools: Iterable[AnyTool]) -> "Registry":
        """A registry of the tools of this one and then of these."""
        return Registry((*self, *tools))

    def replacing(self, tools: Iterable[AnyTool]) -> "Registry":
        """A registry in which `tools` replace the tools of the same names."""
        others = {tool.name: tool for tool in tools}
        return Registry(others.get(tool.name, tool) for tool in self)

    def names(self) -> tuple[str, ...]:
        """All names, in order."""
        return tuple(self._tools)

    def specs(self) -> tuple[ToolSchema, ...]:
        """The tools as a model receives them, in order."""
        return self._specs
