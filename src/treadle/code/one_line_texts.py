"""String and character literals that must end on their line and do not.

Several grammars accept a bare line break in them, which no compiler does. Models write one where
they mean an escape, which gets lost in the JSON around their text.
"""

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from treadle.code.languages import Language

if TYPE_CHECKING:
    from tree_sitter import Node, Query

_C = ("string_literal", "char_literal")
_ECMASCRIPT = ("string",)
_TYPES = {
    "c": _C,
    "cpp": _C,
    "objc": _C,
    "csharp": ("string_literal", "character_literal"),
    "go": ("rune_literal", "interpreted_string_literal"),
    "java": ("string_literal", "character_literal"),
    "javascript": _ECMASCRIPT,
    "kotlin": ("string_literal", "character_literal"),
    "lua": _ECMASCRIPT,
    "scala": ("string", "interpolated_string"),
    "swift": ("line_string_literal",),
    "tsx": _ECMASCRIPT,
    "typescript": _ECMASCRIPT,
}
"""The node types of such literals, by language; longer forms may have the same type."""

_HOLES = ("interpol", "substitution")
_CONTINUED = re.compile(rb"\\(?:\r\n|[\s\S])")
_LONG = re.compile(rb"[A-Za-z0-9@]*(?:\"\"\"|'''|\[)")


def broken_texts(language: Language, root: "Node") -> "list[Node]":
    """The literals below `root` that have a bare line break."""
    from tree_sitter import QueryCursor

    query = _query(language)
    if query is None:
        return []
    found = QueryCursor(query).captures(root).get("text", [])
    return [
        node
        for node in found
        if node.start_point.row != node.end_point.row and not node.has_error and _is_broken(node)
    ]


@lru_cache(maxsize=64)
def _query(language: Language) -> "Query | None":
    from tree_sitter import Language as Grammar
    from tree_sitter import Query

    types = _TYPES.get(language.name, ())
    if not types:
        return None
    loaded = language.grammar()
    grammar = loaded if isinstance(loaded, Grammar) else Grammar(loaded)
    return Query(grammar, " ".join(f"({each}) @text" for each in types))


def _is_broken(node: "Node") -> bool:
    if node.parent is not None and node.parent.type == "jsx_attribute":
        return False  # it may have several lines
    text = node.text or b""
    if _LONG.match(text):
        return False
    for child in reversed(node.children):
        if any(word in child.type for word in _HOLES):
            start, end = child.start_byte - node.start_byte, child.end_byte - node.start_byte
            text = text[:start] + text[end:]
    return b"\n" in _CONTINUED.sub(b"", text)
