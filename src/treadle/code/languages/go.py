"""Go: `package.Type.Method`."""

import re
from typing import TYPE_CHECKING

from treadle.code.languages.base import Language, Naming, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_RECEIVER = re.compile(r"\*?\s*([^\W\d]\w*)\s*(?:\[[^)]*\])?\s*\)$")


def _grammar() -> object:
    import tree_sitter_go

    return tree_sitter_go.language()


def _package(path: str, package: str) -> str:
    return package or path.rpartition("/")[0].rpartition("/")[2] or "main"


def _naming(node: "Node", captured: "dict[str, Node]") -> Naming:
    receiver = captured.get("receiver")
    found = _RECEIVER.search(text_of(receiver)) if receiver else None
    return Naming(text_of(node), (found.group(1),) if found else ())


GO = Language(
    name="go",
    extensions=(".go",),
    grammar=_grammar,
    separator=".",
    prefix=_package,
    naming=_naming,
    outer_only=frozenset({"const_spec", "var_spec"}),
    query_text="""
(package_clause (package_identifier) @package)
(function_declaration name: (identifier) @name) @function
(method_declaration receiver: (_) @receiver name: (field_identifier) @name) @method
(type_declaration . (type_spec name: (type_identifier) @name type: (struct_type)) @struct .) @range
(type_declaration . (type_spec name: (type_identifier) @name type: (interface_type)) @interface .)
  @range
(type_declaration . (type_spec name: (type_identifier) @name) @type .) @range
(type_declaration . (type_alias name: (type_identifier) @name) @type .) @range
(type_spec name: (type_identifier) @name type: (struct_type)) @struct
(type_spec name: (type_identifier) @name type: (interface_type)) @interface
(type_spec name: (type_identifier) @name) @type
(type_alias name: (type_identifier) @name) @type
(const_declaration . (const_spec . name: (identifier) @name) @constant .) @range
(var_declaration . (var_spec . name: (identifier) @name) @constant .) @range
(const_spec . name: (identifier) @name) @constant
(var_spec . name: (identifier) @name) @constant
(method_elem name: (field_identifier) @name) @method
(comment) @comment
(import_declaration) @skip
""",
)
