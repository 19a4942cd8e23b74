"""Java, with canonical paths of the form `com.package.Class.method`."""

from typing import TYPE_CHECKING

from treadle.code.languages.base import Language, by_package, packaged_grammar, text_of
from treadle.code.references import Imported

if TYPE_CHECKING:
    from tree_sitter import Node


def _imports(node: "Node") -> list[Imported]:
    """Read an import of a type, a static member, or all names of a package or type."""
    named = next((child for child in node.named_children if child.type != "asterisk"), None)
    path = text_of(named) if named is not None else ""
    if any(child.type == "asterisk" for child in node.named_children):
        return [Imported("*", path)]
    module, _, name = path.rpartition(".")
    return [Imported(name, module, name)]


_REFERENCES = """
(method_invocation !object name: (identifier) @call)
(method_invocation object: (_) @receiver name: (identifier) @call)
(object_creation_expression type: (_) @call)
(explicit_constructor_invocation constructor: (_) @call)
(method_reference) @call
(marker_annotation name: (_) @type)
(annotation name: (_) @type)
(type_identifier) @type
(scoped_type_identifier) @type
(superclass (_) @base)
(super_interfaces (type_list (_) @base))
(extends_interfaces (type_list (_) @base))
(import_declaration) @import
(type_parameter (type_identifier) @generic)
(formal_parameter type: (_) @of name: (identifier) @bound)
(field_declaration type: (_) @of declarator: (variable_declarator name: (identifier) @bound))
(local_variable_declaration type: (_) @of
  declarator: (variable_declarator name: (identifier) @bound)
  (#not-eq? @of "var"))
(local_variable_declaration type: (type_identifier) @_var
  declarator: (variable_declarator name: (identifier) @bound
    value: (object_creation_expression type: (_) @of))
  (#eq? @_var "var"))
(local_variable_declaration declarator: (variable_declarator name: (identifier) @local))
(enhanced_for_statement type: (_) @of name: (identifier) @bound)
(resource type: (_) @of name: (identifier) @bound)
(catch_formal_parameter name: (identifier) @local)
(lambda_expression parameters: (identifier) @local)
(inferred_parameters (identifier) @local)
"""

JAVA = Language(
    name="java",
    extensions=(".java",),
    grammar=packaged_grammar("tree_sitter_java"),
    separator=".",
    prefix=by_package,
    reference_text=_REFERENCES,
    imports=_imports,
    self_names=frozenset({"this", "super"}),
    implicit_self=True,
    builtins=frozenset(
        {"var", "String", "Object", "Integer", "Long", "Boolean", "Double", "Override"}
    ),
    shares_names=True,
    query_text="""
(package_declaration (scoped_identifier) @package)
(package_declaration (identifier) @package)
(class_declaration name: (identifier) @name) @class
(record_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @interface
(annotation_type_declaration name: (identifier) @name) @interface
(enum_declaration name: (identifier) @name) @enum
(method_declaration name: (identifier) @name) @method
(annotation_type_element_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @method
(compact_constructor_declaration name: (identifier) @name) @method
(constant_declaration declarator: (variable_declarator name: (identifier) @name)) @constant
(field_declaration (modifiers "final") declarator: (variable_declarator name: (identifier) @name))
  @constant
(constant_declaration "," . declarator: (variable_declarator name: (identifier) @name) @constant)
  @range
(field_declaration (modifiers "final") "," .
  declarator: (variable_declarator name: (identifier) @name) @constant) @range
(enum_constant name: (identifier) @name) @constant
(line_comment) @comment
(block_comment) @comment
(import_declaration) @skip
""",
)
