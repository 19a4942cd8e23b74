"""A tool of an MCP server, as a tool of a session."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from treadle.events.types import Effect, ErrorKind, ToolView
from treadle.mcp_client.definition import Definition
from treadle.mcp_client.names import offered_name
from treadle.mcp_client.results import McpResult, error_text, read_result
from treadle.mcp_client.schemas import corrected_schema
from treadle.tools.approvals.question import Policy, Question, Subject
from treadle.tools.contract import Arguments, Tool, ToolContext, ToolEffect, ToolError
from treadle.tools.external.definitions import arguments_model

_ERROR_CHARACTERS = 2_000

Call = Callable[[str, dict[str, Any], ToolContext], Awaitable[Mapping[str, Any]]]
"""A function that sends a call to the server and returns its answer. Raises ToolError."""

Accept = Callable[[Definition], Awaitable[None]]
"""A function that stores a definition to which a person consented."""


@dataclass(frozen=True, slots=True)
class ToolTerms:
    """What the user's settings say about a tool: its effect, its time limit and its transport."""

    effect: ToolEffect
    timeout: float
    transport: str


@dataclass(frozen=True, slots=True)
class ChangedDefinition:
    """A definition that a person has not seen. `accept` stores the consent of a person."""

    definition: Definition
    accept: Accept


class McpTool(Tool[Any, McpResult]):
    """A tool whose calls an MCP server runs."""

    result = McpResult
    definition: Definition
    """The definition that a person knows. The model receives no other one."""
    changed: ChangedDefinition | None = None

    def __init__(self, call: Call, terms: ToolTerms, renamed: Mapping[str, str]) -> None:
        self._call = call
        self._terms = terms
        self._renamed = renamed

    async def run(self, arguments: Arguments, context: ToolContext) -> McpResult:
        if self.changed is not None:
            await self._consent(self.changed, context)
        given = arguments.model_dump(mode="json")
        original = {self._renamed.get(name, name): value for name, value in given.items()}
        answer = await self._call(self.definition.tool, original, context)
        if (failure := error_text(answer)) is not None:
            raise ToolError(
                ErrorKind.UNAVAILABLE,
                f"The MCP server {self.definition.server} reports a failure of"
                f" {self.definition.tool}: {failure[:_ERROR_CHARACTERS]}",
                effect=Effect.UNKNOWN if self.effect is ToolEffect.WRITE else Effect.NONE,
            )
        return read_result(self.definition.server, answer)

    def view(self, arguments: Arguments, result: McpResult) -> ToolView:  # noqa: ARG002
        server, transport = self.definition.server, self._terms.transport
        return ToolView(
            f"{self.name}: {len(result.text):,} characters from {server} ({transport})",
            (("mcp.server", server), ("mcp.transport", transport)),
        )

    async def _consent(self, changed: ChangedDefinition, context: ToolContext) -> None:
        """Ask a person about the changed definition. Raises ToolError without consent."""
        what = f"the changed definition of {self.name} by the MCP server {self.definition.server}"
        question = Question(
            (Subject(protected=f"the server changed what it says about {self.name}"),),
            Policy.ASK,
            what,
            preview=self.definition.difference(changed.definition),
            effect="The server changed what it says about the tool.",
        )
        decision = await context.approve(question)
        if not decision.allowed:
            raise ToolError.of(decision.failure(what))
        await changed.accept(changed.definition)
        self.changed = None


def mcp_tool(
    known: Definition,
    call: Call,
    terms: ToolTerms,
    changed: ChangedDefinition | None = None,
) -> McpTool:
    """Build the tool of a definition. Raises UnusableSchemaError."""
    schema = corrected_schema(known.schema)
    offered = offered_name(known.server, known.tool)

    class Offered(McpTool):
        name = offered
        description = known.offered_description
        effect = terms.effect
        timeout = terms.timeout
        arguments = arguments_model(offered, schema.schema)
        definition = known

    tool = Offered(call, terms, schema.renamed)
    tool.changed = changed
    return tool
