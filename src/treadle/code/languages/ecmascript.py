"""Rules that JavaScript and TypeScript share. A canonical path is `module/path.Class.method`."""

import re
from typing import TYPE_CHECKING

from treadle.code.languages.base import Naming, text_of
from treadle.code.references import Imported

if TYPE_CHECKING:
    from tree_sitter import Node

SEPARATOR = "."

_IDENTIFIER = re.compile(r"[\w$#]+")

TOP_LEVEL_ONLY = frozenset({"variable_declarator", "assignment_expression"})
"""Node types that define variables.

Inside a function, a variable is an item only if it holds a function.
"""
_MAX_OBJECTS = 8
"""The maximum number of enclosing objects whose keys are part of a canonical path."""


def module(path: str, _package: str) -> str:
    """Return the path of the file from the root, without its suffix (and without `.d`)."""
    return path.rpartition(".")[0].removesuffix(".d")


def naming(node: "Node", _captured: "dict[str, Node]") -> Naming:
    """Return the name of a definition, without quotes.

    For `Class.prototype.method = …` and `exports.run = …` the name is the last part. The parts
    before it are scopes, except `exports`, `module` and `prototype`. The keys of enclosing objects
    are scopes as well.
    """
    text = text_of(node).strip("\"'")
    if node.type != "member_expression":
        return Naming(text, _keys_above(node))
    parts = _IDENTIFIER.findall(text)
    scopes = (part for part in parts[:-1] if part not in {"exports", "module", "prototype"})
    return Naming(parts[-1], tuple(scopes))


def _keys_above(name: "Node") -> tuple[str, ...]:
    """Return the keys of the enclosing objects.

    For `get` in `{ users: { get() {} } }` they are `("users",)`.
    """
    keys: list[str] = []
    inner = name.parent
    if inner is None or inner.type not in {"pair", "method_definition"}:
        return ()
    for _ in range(_MAX_OBJECTS):
        inside = inner.parent
        pair = inside.parent if inside is not None and inside.type == "object" else None
        key = pair.child_by_field_name("key") if pair is not None and pair.type == "pair" else None
        if pair is None or key is None:
            break
        keys.insert(0, text_of(key).strip("\"'"))
        inner = pair
    return tuple(keys)


SELF_NAMES = frozenset({"this", "super"})

BUILTINS = frozenset(
    {
        "Array", "Boolean", "Date", "Error", "JSON", "Map", "Math", "Number", "Object", "Partial",
        "Promise", "Readonly", "Record", "RegExp", "Set", "String", "Symbol", "console", "require",
    }
)  # fmt: skip


def imports(node: "Node") -> list[Imported]:
    """Return the imports of `import`, `export … from`, `export { a as b }` and `x = require("…")`.

    A local export has no module, since its name is defined in this file.
    """
    if node.type == "variable_declarator":
        return _required(node)
    default = node.child_by_field_name("declaration") or node.child_by_field_name("value")
    if default is not None:
        inner = default if default.type == "identifier" else default.child_by_field_name("name")
        return [Imported("", "", text_of(inner), "default")] if inner is not None else []
    source = node.child_by_field_name("source")
    module = text_of(source).strip("\"'`") if source is not None else ""
    found: list[Imported] = []
    for child in node.named_children:
        if child.type == "import_clause":
            found += _clause(child, module)
        elif child.type == "export_clause":
            for specifier in child.named_children:
                name, alias = _names(specifier)
                found.append(Imported("", module, name, alias))
        elif child.type == "namespace_export":
            inner = child.named_child(0)
            found.append(Imported("", module, "", text_of(inner) if inner is not None else ""))
    if node.type == "export_statement" and source is not None and not found:
        found.append(Imported("", module, "", "*"))
    if node.type == "import_statement" and not found:
        found.append(Imported("", module))
    return found


def _clause(clause: "Node", module: str) -> list[Imported]:
    found: list[Imported] = []
    for child in clause.named_children:
        if child.type == "identifier":
            found.append(Imported(text_of(child), module, "default"))
        elif child.type == "namespace_import":
            inner = child.named_child(0)
            found.append(Imported(text_of(inner) if inner is not None else "", module))
        elif child.type == "named_imports":
            for specifier in child.named_children:
                name, alias = _names(specifier)
                found.append(Imported(alias, module, name))
    return found


def _names(specifier: "Node") -> tuple[str, str]:
    """Return the name in the source module, and the bound name."""
    name = specifier.child_by_field_name("name")
    alias = specifier.child_by_field_name("alias")
    original = text_of(name) if name is not None else ""
    return original, text_of(alias) if alias is not None else original


def _required(node: "Node") -> list[Imported]:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    arguments = value.child_by_field_name("arguments") if value is not None else None
    first = arguments.named_child(0) if arguments is not None else None
    if name is None or first is None or first.type != "string":
        return []
    module = text_of(first).strip("\"'`")
    if name.type == "identifier":
        return [Imported(text_of(name), module)]
    shorthand = "shorthand_property_identifier_pattern"
    names = [text_of(child) for child in name.named_children if child.type == shorthand]
    return [Imported(bound, module, bound) for bound in names]


REFERENCES = """
(call_expression function: [(identifier) (member_expression) (super)] @call)
(new_expression constructor: (_) @call)
(import_statement) @import
(export_statement source: (_)) @import
(export_statement (export_clause)) @import
(export_statement "default" [declaration: (_ name: (_)) value: (identifier)]) @import
(variable_declarator value: (call_expression function: (identifier) @_require)
  (#eq? @_require "require")) @import
(variable_declarator name: (identifier) @bound
  value: (new_expression constructor: [(identifier) (member_expression)] @of))
(variable_declarator name: (identifier) @local)
(array_pattern (identifier) @local)
(shorthand_property_identifier_pattern) @local
(pair_pattern value: (identifier) @local)
(for_in_statement left: (identifier) @local)
(catch_clause parameter: (identifier) @local)
(arrow_function parameter: (identifier) @local)
(rest_pattern (identifier) @local)
(assignment_expression left: (member_expression object: (this) property: (property_identifier)
  @field) right: (new_expression constructor: [(identifier) (member_expression)] @of))
"""

_WRAPPERS = (
    r"(?:\\w+\\.)*(?:use\\w*(?:Callback|Event|Handler)|memo\\w*|forwardRef|observer|debounce|throttle"
    r"|once|cache|lazy|callback|action|async\\w*|catch\\w*|with[A-Z]\\w*|wrap\\w*)"
)
"""Functions that wrap their first argument.

A variable with such a call as its value is a function item, with the name of the variable.
"""

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
(lexical_declaration (variable_declarator name: (identifier) @name
  value: (call_expression function: (_) @_wrapper
    arguments: (arguments . [(arrow_function) (function_expression)])))
  @function (#match? @_wrapper "^WRAPPERS$")) @range
(export_statement (lexical_declaration (variable_declarator name: (identifier) @name
  value: (call_expression function: (_) @_wrapper
    arguments: (arguments . [(arrow_function) (function_expression)])))
  @function (#match? @_wrapper "^WRAPPERS$"))) @range
(export_statement "default" @name
  value: [(arrow_function) (function_expression) (generator_function)] @function) @range
(export_statement "default" @name value: (class) @class) @range
(export_statement "default" @name value: (call_expression
  arguments: (arguments . [(arrow_function) (function_expression)])) @function) @range
(export_statement "default" @name
  value: [(object) (array) (call_expression) (new_expression)] @constant) @range
(object (method_definition name: (_) @name) @method)
(object (pair key: [(property_identifier) (string)] @name
  value: [(arrow_function body: (statement_block)) (function_expression) (generator_function)])
  @method)
(variable_declarator value: (object (pair key: [(property_identifier) (string)] @name
  value: (arrow_function)) @method))
(program (expression_statement (assignment_expression left: (member_expression) @name
  right: [(arrow_function) (function_expression) (generator_function)]) @function) @range)
(program (lexical_declaration (variable_declarator name: (identifier) @name) @constant) @range)
(program (variable_declaration (variable_declarator name: (identifier) @name) @constant) @range)
(program (export_statement
  (lexical_declaration (variable_declarator name: (identifier) @name) @constant)) @range)
(program (lexical_declaration (variable_declarator name: (object_pattern
  (shorthand_property_identifier_pattern) @name @constant))) @range)
(program (lexical_declaration (variable_declarator name: (object_pattern
  (pair_pattern value: (identifier) @name @constant)))) @range)
(program (lexical_declaration (variable_declarator name: (object_pattern
  (object_assignment_pattern left: (_) @name @constant)))) @range)
(program (lexical_declaration (variable_declarator name: (array_pattern
  (identifier) @name @constant))) @range)
(program (export_statement (lexical_declaration (variable_declarator name: (object_pattern
  (shorthand_property_identifier_pattern) @name @constant)))) @range)
(program (export_statement (lexical_declaration (variable_declarator name: (object_pattern
  (pair_pattern value: (identifier) @name @constant))))) @range)
(program (export_statement (lexical_declaration (variable_declarator name: (object_pattern
  (object_assignment_pattern left: (_) @name @constant))))) @range)
(program (export_statement (lexical_declaration (variable_declarator name: (array_pattern
  (identifier) @name @constant)))) @range)
(comment) @comment
(import_statement) @skip
""".replace("WRAPPERS", _WRAPPERS)
