"""Writes the table of settings in docs/configuration.md from the settings model."""

import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from treadle.config import schema
from treadle.config.effective_settings import kind
from treadle.config.model import Settings
from treadle.config.section import Section

PAGE = Path(__file__).resolve().parent.parent / "docs" / "configuration.md"
BEGIN = "<!-- settings: written by `make docs`, do not edit -->"
END = "<!-- end of settings -->"


def render(section: type[Section] = Settings, at: schema.Path = ()) -> str:
    """Markdown for `section` and the sections in it, each with a table of its settings."""
    return "\n".join(_lines(section, at)).strip()


def with_reference(page: str) -> str:
    """`page` with the text between its two marks replaced."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{render()}\n\n{END}{after}"


def _lines(section: type[Section], at: schema.Path) -> Iterator[str]:
    properties: dict[str, Any] = section.model_json_schema(by_alias=False)["properties"]
    yield f"### `[{'.'.join(at)}]`" if at else "### At the top of the file"
    yield ""
    if at:
        yield from (inspect.getdoc(section) or "", "")
    yield from ("| key | value | default | what it is |", "|---|---|---|---|")
    below: list[tuple[type[Section], schema.Path]] = []
    for name, description in properties.items():
        node = schema.child(section, (*at, name))
        if isinstance(node, schema.NamedSections):
            below.append((node.section, (*at, name, "NAME")))
        elif isinstance(node, type):
            below.append((node, (*at, name)))
        else:
            yield _row(name, description, (*at, name))
    yield ""
    for inner, path in below:
        yield from _lines(inner, path)


def _row(name: str, description: dict[str, Any], path: schema.Path) -> str:
    default = description.get("default", {})
    shown = "unset" if default is None else f"`{json.dumps(default)}`"
    if "default" not in description and kind(description) != "table":
        shown = "required"
    who = ""
    if schema.only_user_may_set(path):
        who = " *Only your own file may set it.*"
    elif schema.needs_consent(path):
        who = " *Needs consent.*"
    return f"| `{name}` | {kind(description)} | {shown} | {description['description']}{who} |"


def main() -> int:
    """Write the page."""
    PAGE.write_text(with_reference(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
