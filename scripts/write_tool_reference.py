"""Writes docs/tools-reference.md from the registry of tools."""

import inspect
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

from treadle.app.toolsets import listed_registry
from treadle.paths import HOME_VARIABLE
from treadle.tools.contract import AnyTool, Registry
from treadle.tools.schemas import JsonSchema, in_words, result_schema_of, schema_of

PAGE = Path(__file__).resolve().parent.parent / "docs" / "tools-reference.md"
HEAD = """# Reference of the tools

<!-- written by `make docs`, do not edit -->

This page lists all tools with their arguments and results. [Tools](tools.md) describes the rules
for all of them, and [what pages show](ui.md) describes the four tools that control the page. The
same call returns the same bytes through the command line, HTTP, MCP and a session.
"""

_ALWAYS = frozenset({"ok", "type", "v"})


def registry() -> Registry:
    """The tools of the program, over an empty repository."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "repository")
        root.mkdir()
        with patch.dict(os.environ, {HOME_VARIABLE: str(Path(folder, "home"))}):
            return listed_registry(root)


def reference(tools: Registry) -> str:
    """The whole page."""
    contents = "\n".join(f"- [`{tool.name}`](#{tool.name})" for tool in tools)
    sections = "\n".join(line for tool in tools for line in _lines(tool)).strip()
    return f"{HEAD}\n{contents}\n\n{sections}\n"


def _lines(tool: AnyTool) -> Iterator[str]:
    waits = "the default time-out" if tool.timeout is None else f"at most {tool.timeout:g} s"
    yield f"## `{tool.name}`"
    yield from ("", tool.description, "")
    asks = {"allow": "runs without a question", "ask": "asks first", "deny": "needs a rule"}
    approval = "asks with a diff" if tool.proposes else asks[tool.asks]
    yield (
        f"Effect {tool.effect}, class {tool.tool_class}, {waits}, {approval}, "
        f"version {tool.version}."
    )
    yield ""
    schema = schema_of(tool.arguments)
    arguments = schema.get("properties", {})
    if arguments:
        yield from ("| argument | value | default | what it is |", "|---|---|---|---|")
    else:
        yield "It takes no arguments."
    for name, field in arguments.items():
        yield _argument(name, field, required=name in schema.get("required", []))
    yield from ("", f"Result. {_prose(tool.result)}", "", "| key | value |", "|---|---|")
    yield from _keys(tool)
    yield ""


def _argument(name: str, field: JsonSchema, *, required: bool) -> str:
    default = field.get("default")
    shown = "needed" if required else "none" if default is None else f"`{json.dumps(default)}`"
    what = field.get("description", "").replace("|", "\\|")
    return f"| `{name}` | {in_words(field)} | {shown} | {what} |"


def _keys(tool: AnyTool) -> Iterator[str]:
    properties = result_schema_of(tool.result)["properties"]
    for name, field in tool.result.model_fields.items():
        if field.exclude:
            continue
        key = field.serialization_alias or name
        shape = properties[key]
        value = f"`{json.dumps(field.default)}`" if name in _ALWAYS else in_words(shape)
        fields = shape.get("items", {}).get("properties") or shape.get("properties")
        inner = f": {', '.join(f'`{key}`' for key in fields)}" if fields else ""
        optional = "" if field.is_required() or name in _ALWAYS else "; optional"
        yield f"| `{key}` | {value}{inner}{optional} |"


def _prose(model: type) -> str:
    return " ".join((inspect.getdoc(model) or "").split())


def main() -> int:
    """Write the page."""
    PAGE.write_text(reference(registry()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
