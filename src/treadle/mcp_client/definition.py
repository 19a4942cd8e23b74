"""The definition of a tool as its server describes it."""

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from treadle.visible import printable

DESCRIPTION_CHARACTERS = 2_000
"""The maximum length of a description that a model receives."""

_DEFINITION_CHARACTERS = 200_000
_NAME_CHARACTERS = 200


class UnusableDefinitionError(ValueError):
    """A server described a tool in a form that cannot be used. The text states the reason."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A tool of the server `server`, in the words of the server.

    `annotations` are what the server claims about the tool, such as that it only reads. Treadle
    only compares them, and never believes them.
    """

    server: str
    tool: str
    description: str
    schema: Any
    annotations: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, server: str, described: object) -> "Definition":
        """Read an entry of the list of tools. Raises UnusableDefinitionError."""
        if not isinstance(described, dict):
            raise UnusableDefinitionError("an entry is not a JSON object")
        name = described.get("name")
        if not isinstance(name, str) or not name.strip() or len(name) > _NAME_CHARACTERS:
            raise UnusableDefinitionError("an entry has no usable name")
        description = described.get("description")
        annotations = described.get("annotations")
        definition = cls(
            server,
            name,
            description if isinstance(description, str) else "",
            described.get("inputSchema", {}),
            annotations if isinstance(annotations, dict) else {},
        )
        size = len(definition.text)
        if size > _DEFINITION_CHARACTERS:
            raise UnusableDefinitionError(f"its definition has {size:,} characters")
        return definition

    @classmethod
    def of_json(cls, server: str, tool: str, text: str) -> "Definition":
        """Return the definition from which `json` made `text`."""
        value = json.loads(text)
        return cls(server, tool, value["description"], value["schema"], value["annotations"])

    @property
    def json(self) -> str:
        """Everything that the server says about the tool, as JSON in a fixed order."""
        value = {
            "description": self.description,
            "schema": self.schema,
            "annotations": self.annotations,
        }
        return json.dumps(value, sort_keys=True)

    @property
    def digest(self) -> str:
        """A hash of everything that the server says about the tool."""
        return blake2b(self.json.encode(), digest_size=32).hexdigest()

    @property
    def text(self) -> str:
        """Everything that the server says about the tool, in lines. No character is hidden."""
        rest = {"schema": self.schema, "annotations": self.annotations}
        shown = json.dumps(rest, indent=1, sort_keys=True, ensure_ascii=False)
        return printable(f"{self.description}\n{shown}\n")

    @property
    def offered_description(self) -> str:
        """The description for the model. It names the server, and no character is hidden."""
        text = self.description.strip()
        if len(text) > DESCRIPTION_CHARACTERS:
            text = f"{text[:DESCRIPTION_CHARACTERS]}…"
        return f"[MCP server {self.server}] {printable(text) or 'It has no description.'}"

    def difference(self, new: "Definition") -> str:
        """Return what differs in `new`, as a unified diff."""
        lines = difflib.unified_diff(
            self.text.splitlines(),
            new.text.splitlines(),
            f"{self.tool} (known)",
            f"{self.tool} (now)",
            lineterm="",
        )
        return "\n".join(lines)
