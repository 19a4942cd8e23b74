"""What JavaScript and TypeScript share: `module/path.Class.method`, the file without its suffix."""

import re
from typing import TYPE_CHECKING

from treadle.code.languages.base import Naming, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

SEPARATOR = "."

_IDENTIFIER = re.compile(r"[\w$#]+")

OUTER_ONLY = frozenset({"variable_declarator", "assignment_expression"})
"""Local variables that hold functions are part of the function around them."""


def module(path: str, _package: str) -> str:
    """The path of the file from the root, without its suffix (and `.d` of a declaration file)."""
    return path.rpartition(".")[0].removesuffix(".d")


def naming(node: "Node", _captured: "dict[str, Node]") -> Naming:
    """The name without quotes; of `Class.prototype.method = …` and `exports.run = …` the last part.

    An object that is assigned to is a scope, `exports` and `prototype` are not.
    """
    text = text_of(node).strip("\"'")
    if node.type != "member_expression":
        return Naming(text)
    parts = _IDENTIFIER.findall(text)
    scopes = (part for part in parts[:-1] if part not in {"exports", "module", "prototype"})
    return Naming(parts[-1], tuple(scopes))


QUERY = """
(function_declaration name: (_) @name) @function
(generator_function_declaration name: (_) @name) @function
(class_declaration name: (_) @name) @class
(class_body (method_definition name: (_) @name) @method)
(export_statement (function_declaration name: (_) @name) @function) @range
(export_statement (generator_function_declaration name: (_) @name) @function) @range
(export_statement (class_declaration name: (_) @name) @class) @range
(lexical_declaration (variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @function) @range
(variable_declaration (variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @function) @range
(export_statement (lexical_declaration (variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @function)) @range
(lexical_declaration (variable_declarator name: (identifier) @name value: (class)) @class) @range
(program (expression_statement (assignment_expression left: (member_expression) @name
  right: [(arrow_function) (function_expression) (generator_function)]) @function) @range)
(program (lexical_declaration (variable_declarator name: (identifier) @name) @constant) @range)
(program (variable_declaration (variable_declarator name: (identifier) @name) @constant) @range)
(program (export_statement
  (lexical_declaration (variable_declarator name: (identifier) @name) @constant)) @range)
(comment) @comment
(import_statement) @skip
"""
