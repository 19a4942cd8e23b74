"""Declarations of several names: lists, types that names share, and repeated values."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node

    from treadle.code.parse.items import Definition


_DECLARING = frozenset({"declaration", "field_declaration", "type_definition"})

_IOTA = re.compile(rb"\biota\b")


def gets_other_value(definition: "Definition", source: bytes, code: str) -> str | None:
    """Return another Go constant whose value changes if `code` replaces `definition`, or None."""
    spec = definition.name.parent
    if spec is None or spec.type != "const_spec" or spec.parent is None:
        return None
    specs = [node for node in spec.parent.named_children if node.type == "const_spec"]
    position = specs.index(spec)
    other = _repeating(specs, position, source, code) or _counting(specs, position, source, code)
    return None if other is None else _spec_name(other, source)


def _repeating(specs: "list[Node]", position: int, source: bytes, code: str) -> "Node | None":
    """Return the constant below if it repeats a value that `code` changes, or else None."""
    below = specs[position + 1] if position + 1 < len(specs) else None
    if below is None or below.child_by_field_name("value") is not None:
        return None
    own = specs[position].child_by_field_name("value")
    former = b"" if own is None else source[own.start_byte : own.end_byte]
    written = code.strip().split("\n")[-1].partition("//")[0].partition("=")[2].strip()
    if not code.strip() and own is None:
        return None
    return None if written.encode("utf-8", "replace") == former else below


def _counting(specs: "list[Node]", position: int, source: bytes, code: str) -> "Node | None":
    """Return the first constant below whose value depends on its line (`iota`), or None.

    The result is also None if `code` is not empty. In that case the lines below keep their numbers.
    """
    if code.strip():
        return None
    values = [node.child_by_field_name("value") for node in specs]
    value = next((each for each in reversed(values[: position + 1]) if each is not None), None)
    for at in range(position + 1, len(specs)):
        value = values[at] or value
        if value is not None and _IOTA.search(source, value.start_byte, value.end_byte):
            return specs[at]
    return None


def declarators(definition: "Definition") -> tuple[int, int] | None:
    """Return the range of the C variables after a type, or None if there are no variables."""
    node = definition.node
    outer = node.parent
    if outer is None or outer.type not in _DECLARING or outer.end_byte <= definition.end:
        return None
    if outer.child_by_field_name("type") != node:
        return None
    found = outer.children_by_field_name("declarator")
    return (found[0].start_byte, found[-1].end_byte) if found else None


def _spec_name(spec: "Node", source: bytes) -> str:
    name = spec.child_by_field_name("name")
    node = spec if name is None else name
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")


_BY_POSITION = frozenset(
    {
        "pattern_list", "tuple_pattern", "list_pattern", "array_pattern", "left_assignment_list",
        "multi_variable_declaration", "destructured_left_assignment",
    }
)  # fmt: skip
"""Lists in which the position of a name decides its value."""

_VALUES = frozenset(
    {
        "arguments", "argument_list", "value_arguments", "formal_parameters", "parameter_list",
        "parameters", "expression_list", "array", "tuple", "list",
    }
)  # fmt: skip
"""Lists of values that may contain an item, such as a function that is passed as an argument."""

_SPECS = frozenset({"var_spec", "const_spec"})
"""Lists of Go names with one type, in which values are assigned by position."""

_DECLARATIONS = frozenset(
    {
        "lexical_declaration", "variable_declaration", "field_declaration", "declaration",
        "local_variable_declaration", "constant_declaration", "type_definition",
        "const_declaration", "property_declaration", "declaration_command", "enum_entry",
    }
)  # fmt: skip
"""Lists whose names share the text before the first name and after the last name."""

_CHAINS = frozenset({"assignment", "assignment_expression"})

_CLOSING = frozenset({";", "}", ")", "]"})

_MAX_DEPTH = 12


class Element(NamedTuple):
    """An element of a list with its value, at bytes `start` to `end`."""

    start: int
    end: int


class Removal(NamedTuple):
    """How to remove an element: the range that is replaced by `kept`."""

    start: int
    end: int
    kept: bytes = b""


class DeclarationList(NamedTuple):
    """A list of names from `start` to `end`. `position` is the position of the item's element.

    `separate` states that each element has its own value and can be replaced alone. `shares` states
    that the elements share the text before the first and after the last element. `sound` states
    that the list has no syntax error. `cut` states how to remove the item's element. It is None if
    the removal would change the values of other elements.
    """

    start: int
    end: int
    elements: tuple[Element, ...]
    position: int
    separate: bool
    shares: bool
    sound: bool
    cut: Removal | None

    @property
    def own(self) -> Element:
        """The list element of the item itself."""
        return self.elements[self.position]


def find_declaration_list(definition: "Definition", source: bytes) -> DeclarationList | None:
    """Return the list that has the definition as an element, or None if there is no such list."""
    for node in _around(definition):
        if node.type in _CHAINS and (chain := _chain(node, definition.name)) is not None:
            return chain
        spaced = node.type == "declaration_command"
        if spaced or any(child.type == "," for child in node.children):
            found = _list(node, definition, source, spaced=spaced)
            if node.type not in _VALUES:
                return found
            if found is not None and found.own == (definition.start, definition.end):
                return found
    return None


def _around(definition: "Definition") -> "Iterator[Node]":
    """Yield the nodes around the name, innermost first.

    The last node is the first one that is larger than the item.
    """
    node = definition.name.parent
    for _ in range(_MAX_DEPTH):
        if node is None:
            return
        yield node
        if node.start_byte < definition.start or node.end_byte > definition.end:
            return
        node = node.parent


def _chain(node: "Node", name: "Node") -> DeclarationList | None:
    """Return the names of a chain such as `a = b = 1`, or None.

    Each name is removed together with its equals sign.
    """
    outermost = node
    while outermost.parent is not None and outermost.parent.type == node.type:
        outermost = outermost.parent
    elements: list[Element] = []
    position = -1
    link: Node | None = outermost
    while link is not None and link.type == node.type:
        left, right = link.child_by_field_name("left"), link.child_by_field_name("right")
        if left is None or right is None:
            return None
        if left.start_byte <= name.start_byte < left.end_byte:
            position = len(elements)
        elements.append(Element(left.start_byte, right.start_byte))
        link = right
    if len(elements) < 2 or position < 0:
        return None
    return DeclarationList(
        outermost.start_byte, outermost.end_byte, tuple(elements), position,
        separate=False, shares=False, sound=not outermost.has_error,
        cut=Removal(*elements[position]),
    )  # fmt: skip


def _list(
    node: "Node", definition: "Definition", source: bytes, *, spaced: bool
) -> DeclarationList | None:
    elements, commas = _spaced(node) if spaced else _separated(node)
    at = definition.name.start_byte
    position = next((n for n, each in enumerate(elements) if each.start <= at < each.end), -1)
    if position < 0 or (len(elements) < 2 and not commas):
        return None
    by_position = node.type in _BY_POSITION | _VALUES
    valued = node.type in _SPECS and node.child_by_field_name("value") is not None
    if len(elements) == 1 and (by_position or valued):
        return None
    return DeclarationList(
        node.start_byte,
        node.end_byte,
        tuple(elements),
        position,
        separate=node.type not in _SPECS and not by_position and not node.type.endswith("pattern"),
        shares=node.type in _DECLARATIONS,
        sound=not node.has_error,
        cut=None if by_position or valued else _cut(source, definition, elements, position, commas),
    )


def _cut(
    source: bytes,
    definition: "Definition",
    elements: list[Element],
    position: int,
    commas: list[tuple[int, int]],
) -> Removal:
    """Return the range that is removed with the element.

    The range includes the comma after the element. For the last element, the range includes the
    comma before it. The doc comment of the element is removed too. Other comments stay.
    """
    own = elements[position]
    start = definition.leading.own_start if definition.start == own.start else own.start
    limit = elements[position + 1].start if position + 1 < len(elements) else len(source)
    behind = next((comma for comma in commas if own.end <= comma[0] < limit), None)
    if behind is not None:
        rest = source[behind[1] :]
        blanks = len(rest) - len(rest.lstrip(b" \t"))
        on_same_line = (
            position + 1 < len(elements) and behind[1] + blanks == elements[position + 1].start
        )
        return Removal(
            start, behind[1] + (blanks if on_same_line else 0), source[own.end : behind[0]]
        )
    before = next((comma for comma in reversed(commas) if comma[1] <= own.start), None)
    if before is None:
        return Removal(start, own.end)
    between = source[before[1] : start]
    return Removal(before[0], own.end, between if between.strip() else b"")


def _spaced(node: "Node") -> tuple[list[Element], list[tuple[int, int]]]:
    """Return the assignments of a shell declaration, and the ranges of the spaces between them."""
    words = [child for child in node.named_children if child.type == "variable_assignment"]
    parted = [(one.end_byte, other.start_byte) for one, other in pairwise(words)]
    return [Element(word.start_byte, word.end_byte) for word in words], parted


def _separated(node: "Node") -> tuple[list[Element], list[tuple[int, int]]]:
    """Return the elements of a list, and the ranges of its commas.

    Shared modifiers, types and brackets are not part of an element.
    """
    runs: list[list[Node]] = [[]]
    commas: list[tuple[int, int]] = []
    fields: dict[int, str | None] = {}
    for at, child in enumerate(node.children):
        if child.type == ",":
            commas.append((child.start_byte, child.end_byte))
            runs.append([])
        elif not child.is_extra:
            runs[-1].append(child)
            fields[child.id] = node.field_name_for_child(at)
    model = runs[1][0] if runs[1] else None
    elements: list[Element] = []
    for number, run in enumerate(runs):
        named = [child for child in run if child.is_named]
        if number:
            first = named[0] if named else None
        else:
            first = next((child for child in named if _is_alike(child, model, fields)), None)
            first = first or (named[-1] if named else None)
        if first is None:
            continue
        last = first
        for child in run[run.index(first) + 1 :] if node.type in _DECLARATIONS else ():
            if child.type in _CLOSING:
                break
            last = child
        elements.append(Element(first.start_byte, last.end_byte))
    return elements, commas


def _is_alike(child: "Node", model: "Node | None", fields: dict[int, str | None]) -> bool:
    if model is None:
        return False
    field = fields.get(model.id)
    return fields.get(child.id) == field if field else child.type == model.type


_JSON_SPACE = re.compile(rb"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)


def json_cut(source: bytes, start: int, end: int) -> tuple[int, int, bytes]:
    """Return the range of a JSON key and one comma, and those of its bytes that an edit keeps."""
    behind = _match_end(source, end)
    if source[behind : behind + 1] == b",":
        rest = source[behind + 1 :]
        blanks = len(rest) - len(rest.lstrip(b" \t"))
        more = rest[blanks : blanks + 1] not in {b"", b"\r", b"\n", b"/"}
        return start, behind + 1 + (blanks if more else 0), source[end:behind]
    comma = source.rfind(b",", 0, start)
    if comma >= 0 and _match_end(source, comma + 1) >= start:
        between = source[comma + 1 : start]
        return comma, end, between if between.strip() else b""
    return start, end, b""


def _match_end(source: bytes, position: int) -> int:
    found = _JSON_SPACE.match(source, position)
    return found.end() if found else position
