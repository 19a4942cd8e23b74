"""What other names take from an item that does not list them.

A constant of Go without a value repeats the expression above it, and counts its line (`iota`). In
C, variables may follow the type that they have: `struct S { int a; } one, two;`.
"""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

    from treadle.code.extract import Definition

_DECLARING = frozenset({"declaration", "field_declaration", "type_definition"})
_IOTA = re.compile(rb"\biota\b")


def gets_other_value(definition: "Definition", source: bytes, code: str) -> str | None:
    """The constant of Go whose value would be another one if the definition became `code`."""
    spec = definition.name.parent
    if spec is None or spec.type != "const_spec" or spec.parent is None:
        return None
    specs = [node for node in spec.parent.named_children if node.type == "const_spec"]
    place = specs.index(spec)
    other = _repeating(specs, place, source, code) or _counting(specs, place, source, code)
    return None if other is None else _name(other, source)


def _repeating(specs: "list[Node]", place: int, source: bytes, code: str) -> "Node | None":
    """The constant below, if it repeats a value that the code changes."""
    below = specs[place + 1] if place + 1 < len(specs) else None
    if below is None or below.child_by_field_name("value") is not None:
        return None
    own = specs[place].child_by_field_name("value")
    former = b"" if own is None else source[own.start_byte : own.end_byte]
    written = code.strip().split("\n")[-1].partition("//")[0].partition("=")[2].strip()
    if not code.strip() and own is None:
        return None
    return None if written.encode("utf-8", "replace") == former else below


def _counting(specs: "list[Node]", place: int, source: bytes, code: str) -> "Node | None":
    """The first constant below that counts its line, if the code is empty."""
    if code.strip():
        return None
    values = [node.child_by_field_name("value") for node in specs]
    value = next((each for each in reversed(values[: place + 1]) if each is not None), None)
    for at in range(place + 1, len(specs)):
        value = values[at] or value
        if value is not None and _IOTA.search(source, value.start_byte, value.end_byte):
            return specs[at]
    return None


def declarators(definition: "Definition") -> tuple[int, int] | None:
    """The range of the variables of C that follow the type, if it has any."""
    node = definition.node
    outer = node.parent
    if outer is None or outer.type not in _DECLARING or outer.end_byte <= definition.end:
        return None
    if outer.child_by_field_name("type") != node:
        return None
    found = outer.children_by_field_name("declarator")
    return (found[0].start_byte, found[-1].end_byte) if found else None


def _name(spec: "Node", source: bytes) -> str:
    name = spec.child_by_field_name("name")
    node = spec if name is None else name
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")
