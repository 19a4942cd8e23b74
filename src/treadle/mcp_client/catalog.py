"""Chooses which tools of a server are offered, and states why others are left out."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from treadle.config.mcp import McpServerSettings
from treadle.mcp_client.definition import Definition, UnusableDefinitionError
from treadle.mcp_client.names import offered_name
from treadle.mcp_client.schemas import UnusableSchemaError
from treadle.mcp_client.tool import Accept, Call, ChangedDefinition, McpTool, ToolTerms, mcp_tool
from treadle.tools.contract import ToolEffect
from treadle.visible import in_line

MAX_OFFERED = 100
"""The maximum number of tools of one server that are offered. Providers accept 128 in all."""

_SHOWN_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class Catalog:
    """The offered tools of a server, and a sentence for each tool that is left out.

    `first_seen` are the definitions of tools that were not known before.
    """

    tools: tuple[McpTool, ...] = ()
    problems: tuple[str, ...] = ()
    first_seen: tuple[Definition, ...] = ()


class CatalogBuilder:
    """Builds the catalog of one server from its list of tools."""

    def __init__(
        self, server: str, settings: McpServerSettings, transport: str, call: Call, accept: Accept
    ) -> None:
        self._server = server
        self._settings = settings
        self._transport = transport
        self._call = call
        self._accept = accept

    def build(self, listed: Sequence[object], known: Mapping[str, Definition]) -> Catalog:
        """Return the catalog. `known` has the definitions that a person knows by tool."""
        tools: dict[str, McpTool] = {}
        problems: list[str] = []
        first_seen: list[Definition] = []
        unread = 0
        for described in listed:
            if len(tools) >= MAX_OFFERED:
                unread += self._is_wanted(described)
                continue
            try:
                tool = self._tool(described, known, tools)
            except (UnusableDefinitionError, UnusableSchemaError) as error:
                problems.append(f"The tool {_named(described)} is left out: {error}.")
                continue
            if tool is not None:
                tools[tool.name] = tool
                if tool.definition.tool not in known:
                    first_seen.append(tool.definition)
        if unread:
            problems.append(
                f"{unread:,} more tools are left out, since a server may offer {MAX_OFFERED}: name"
                f" the tools that you need in mcp.servers.{self._server}.tools."
            )
        if len(problems) > _SHOWN_PROBLEMS:
            more = len(problems) - _SHOWN_PROBLEMS
            problems = [*problems[:_SHOWN_PROBLEMS], f"{more:,} more tools have such problems."]
        return Catalog(tuple(tools.values()), tuple(problems), tuple(first_seen))

    def _tool(
        self, described: object, known: Mapping[str, Definition], taken: Collection[str]
    ) -> McpTool | None:
        """Build a tool. Returns None for a tool that the settings leave out."""
        now = Definition.read(self._server, described)
        if not self._is_wanted(described):
            return None
        if offered_name(self._server, now.tool) in taken:
            raise UnusableDefinitionError("the server lists this name twice")
        before = known.get(now.tool, now)
        changed = None
        if before.digest != now.digest:
            mcp_tool(now, self._call, self._terms(now))  # raises the errors of the new schema
            changed = ChangedDefinition(now, self._accept)
        return mcp_tool(before, self._call, self._terms(now), changed)

    def _terms(self, definition: Definition) -> ToolTerms:
        reads = _matches(definition.tool, self._settings.read_only)
        effect = ToolEffect.READ if reads else ToolEffect.WRITE
        return ToolTerms(effect, self._settings.timeout, self._transport)

    def _is_wanted(self, described: object) -> bool:
        name = described.get("name") if isinstance(described, dict) else None
        return (
            isinstance(name, str)
            and _matches(name, self._settings.tools)
            and not _matches(name, self._settings.without_tools)
        )


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _named(described: object) -> str:
    name = described.get("name") if isinstance(described, dict) else None
    return in_line(repr(name)[:80]) if name else "without a name"
