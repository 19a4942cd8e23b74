"""Writes the reference in docs/tools.md anew from the registry of tools."""

import inspect
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

from treadle.app.workspace import listed_registry
from treadle.paths import HOME_VARIABLE
from treadle.tools.registry import AnyTool, Registry
from treadle.tools.schemas import JsonSchema, in_words, schema_of

PAGE = Path(__file__).resolve().parent.parent / "docs" / "tools.md"
BEGIN = "<!-- tools: written by `make docs`, do not edit -->"
END = "<!-- end of tools -->"


def registry() -> Registry:
    """The tools as the program has them, over an empty repository."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "repository")
        root.mkdir()
        with patch.dict(os.environ, {HOME_VARIABLE: str(Path(folder, "home"))}):
            return listed_registry(root)


def with_reference(page: str, tools: Registry) -> str:
    """`page` with what stands between its two marks written anew."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    reference = "\n".join(line for tool in tools for line in _lines(tool)).strip()
    return f"{before}{BEGIN}\n\n{reference}\n\n{END}{after}"


def _lines(tool: AnyTool) -> Iterator[str]:
    waits = "the default time-out" if tool.timeout is None else f"at most {tool.timeout:g} s"
    yield f"### `{tool.name}`"
    yield from ("", tool.description, "")
    asks = {"allow": "runs without a question", "ask": "asks first", "deny": "needs a rule"}
    yield (
        f"Effect {tool.effect}, class {tool.tool_class}, {waits}, {asks[tool.asks]}, "
        f"version {tool.version}."
    )
    yield ""
    schema = schema_of(tool.arguments)
    yield from ("| argument | value | default | what it is |", "|---|---|---|---|")
    for name, field in schema.get("properties", {}).items():
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
    properties = schema_of(tool.result)["properties"]
    for name, field in tool.result.model_fields.items():
        if field.exclude:
            continue
        value = (
            f"`{json.dumps(field.default)}`"
            if name in {"ok", "type", "v"}
            else in_words(properties[name])
        )
        fields = properties[name].get("items", {}).get("properties")
        inner = f": {', '.join(f'`{key}`' for key in fields)}" if fields else ""
        optional = "" if field.is_required() or name in {"ok", "type", "v"} else "; if there is any"
        yield f"| `{name}` | {value}{inner}{optional} |"


def _prose(model: type) -> str:
    return " ".join((inspect.getdoc(model) or "").split())


def main() -> int:
    """Write the page."""
    PAGE.write_text(with_reference(PAGE.read_text("utf-8"), registry()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
