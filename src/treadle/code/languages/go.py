"""Go, with canonical paths of the form `package.Type.Method`."""

import re
from typing import TYPE_CHECKING

from treadle.code.languages.base import Language, Naming, packaged_grammar, text_of
from treadle.code.model import Item
from treadle.code.parse.names import MAX_EXPRESSION_BYTES
from treadle.code.references import Imported

if TYPE_CHECKING:
    from tree_sitter import Node

_RECEIVER = re.compile(r"\*?\s*([^\W\d]\w*)\s*(?:\[[^)]*\])?\s*\)$")


def _package(path: str, package: str) -> str:
    return package or path.rpartition("/")[0].rpartition("/")[2] or "main"


def _naming(node: "Node", captured: "dict[str, Node]") -> Naming:
    receiver = captured.get("receiver")
    found = _RECEIVER.search(text_of(receiver)[-MAX_EXPRESSION_BYTES:]) if receiver else None
    return Naming(text_of(node), (found.group(1),) if found else ())


def _receiver(item: Item) -> str:
    """Return the name of the type that has the method `item`, from the canonical path."""
    parts = item.canonical_path.rsplit(".", 2)
    return parts[1] if item.kind.value == "method" and len(parts) == 3 else ""


def _imports(node: "Node") -> list[Imported]:
    """Return the import that one line of an import declaration states.

    The package is bound to its alias, or to the last part of its path that is not a version.
    """
    path = node.child_by_field_name("path")
    alias = node.child_by_field_name("name")
    module = text_of(path).strip('"`') if path is not None else ""
    parts = module.split("/")
    last = parts[-2] if len(parts) > 1 and _VERSION.fullmatch(parts[-1]) else parts[-1]
    name = text_of(alias) if alias is not None else last.partition(".")[0]
    return [Imported({".": "*", "_": ""}.get(name, name), module)]


_VERSION = re.compile(r"v\d+")

_REFERENCES = """
(call_expression function: [(identifier) (selector_expression)] @call)
(composite_literal type: [(type_identifier) (qualified_type)] @call)
(type_identifier) @type
(qualified_type) @type
(struct_type (field_declaration_list (field_declaration !name type: (_) @base)))
(interface_type (type_elem . [(type_identifier) (qualified_type)] @base .))
(import_spec) @import
(type_parameter_declaration name: (identifier) @generic)
(parameter_declaration name: (identifier) @bound type: (_) @of)
(variadic_parameter_declaration name: (identifier) @local)
(field_declaration name: (field_identifier) @bound type: (_) @of)
(var_spec name: (identifier) @bound type: (_) @of)
(short_var_declaration left: (expression_list . (identifier) @bound .)
  right: (expression_list . (composite_literal type: (_) @of) .))
(short_var_declaration left: (expression_list . (identifier) @bound .)
  right: (expression_list . (unary_expression operand: (composite_literal type: (_) @of)) .))
(short_var_declaration left: (expression_list (identifier) @local))
(range_clause left: (expression_list (identifier) @local))
(type_switch_statement alias: (expression_list (identifier) @local))
"""

_BUILTINS = frozenset(
    {
        "append", "cap", "clear", "close", "complex", "copy", "delete", "imag", "len", "make",
        "max", "min", "new", "panic", "print", "println", "real", "recover", "string", "bool",
        "byte", "rune", "int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint16",
        "uint32", "uint64", "uintptr", "float32", "float64", "complex64", "complex128", "error",
        "any", "comparable",
    }
)  # fmt: skip

GO = Language(
    name="go",
    extensions=(".go",),
    grammar=packaged_grammar("tree_sitter_go"),
    separator=".",
    prefix=_package,
    naming=_naming,
    reference_text=_REFERENCES,
    imports=_imports,
    receiver=_receiver,
    builtins=_BUILTINS,
    shares_names=True,
    top_level_only=frozenset({"const_spec", "var_spec", "identifier"}),
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
(const_declaration . (const_spec "," . name: (identifier) @name @constant) .) @range
(var_declaration . (var_spec "," . name: (identifier) @name @constant) .) @range
(const_spec "," . name: (identifier) @name @constant) @range
(var_spec "," . name: (identifier) @name @constant) @range
(method_elem name: (field_identifier) @name) @method
(comment) @comment
(import_declaration) @skip
""",
)
