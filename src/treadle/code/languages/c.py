"""C, and the rules that C++ shares with C. The declarator contains the name of a definition."""

from typing import TYPE_CHECKING

from treadle.code.languages.base import Language, Naming, no_package, packaged_grammar, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_DECLARATOR_DEPTH = 16


def declared_name(node: "Node", _captured: "dict[str, Node]") -> Naming:
    """Return the name inside a declarator, without pointers, parameters and template arguments."""
    inner = node
    for _ in range(_MAX_DECLARATOR_DEPTH):
        below = inner.child_by_field_name("declarator")
        if below is None and inner.type == "reference_declarator":  # its child is not a named field
            below = inner.named_child(0)
        if below is None:
            break
        inner = below
    parts = _split_qualified(text_of(inner).strip("*& \t\n"))
    return Naming(parts[-1], tuple(parts[:-1]))


def _split_qualified(text: str) -> list[str]:
    """Split `a::C<int>::f` into `a`, `C` and `f`. The name of an operator is not split."""
    head, operator, tail = text.partition("operator")
    if operator and (not tail or not (tail[0].isalnum() or tail[0] == "_")):
        scopes = _split_qualified(head.rstrip(": ")) if head.strip(": ") else []
        return [*scopes, "operator" + " ".join(tail.split())]
    plain: list[str] = []
    depth = 0
    for character in text:
        depth += (character == "<") - (character == ">")
        if depth == 0 and character not in ">\n":
            plain.append(character)
    return [part.strip() for part in "".join(plain).split("::") if part.strip()] or [text]


QUERY = """
(function_definition declarator: (_) @name) @function
(declaration declarator: (function_declarator) @name) @function
(declaration declarator: (pointer_declarator declarator: (function_declarator) @name)) @function
(struct_specifier name: (_) @name body: (_)) @struct
(union_specifier name: (_) @name body: (_)) @struct
(enum_specifier name: (_) @name body: (_)) @enum
(type_definition declarator: (_) @name) @type
(preproc_function_def name: (identifier) @name) @macro
(preproc_def name: (identifier) @name value: (_)) @constant
(declaration (type_qualifier) declarator: (init_declarator declarator: (_) @name)) @constant
(declaration "," . declarator: (function_declarator) @name @function) @range
(declaration "," . declarator: (pointer_declarator
  declarator: (function_declarator)) @name @function) @range
(declaration (type_qualifier) "," .
  declarator: (init_declarator declarator: (_) @name) @constant) @range
(type_definition "," . declarator: (_) @name @type) @range
(enumerator name: (identifier) @name) @constant
(comment) @comment
(preproc_include) @skip
"""

TOP_LEVEL_ONLY = frozenset(
    {
        "declaration", "function_declarator", "pointer_declarator", "init_declarator",
        "preproc_def", "preproc_function_def",
    }
)  # fmt: skip

C = Language(
    name="c",
    extensions=(".c", ".h"),
    grammar=packaged_grammar("tree_sitter_c"),
    separator="::",
    prefix=no_package,
    naming=declared_name,
    top_level_only=TOP_LEVEL_ONLY,
    query_text=QUERY,
)
