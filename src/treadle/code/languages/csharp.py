"""C#, with canonical paths of the form `Namespace.Class.Method`."""

from typing import TYPE_CHECKING

from treadle.code.languages.base import Language, by_package, packaged_grammar, text_of
from treadle.code.references import Imported

if TYPE_CHECKING:
    from tree_sitter import Node


def _imports(node: "Node") -> list[Imported]:
    """Return the import of a `using` directive: all types of a namespace, or an alias of a type."""
    alias = node.child_by_field_name("name")
    named = [child for child in node.named_children if child != alias]
    path = text_of(named[-1]) if named else ""
    return [Imported(text_of(alias) if alias is not None else "*", path)]


CSHARP = Language(
    name="csharp",
    extensions=(".cs", ".csx"),
    grammar=packaged_grammar("tree_sitter_c_sharp"),
    separator=".",
    prefix=by_package,
    imports=_imports,
    self_names=frozenset({"this", "base"}),
    implicit_self=True,
    reference_text="""
(invocation_expression function: [(identifier) (member_access_expression)] @call)
(object_creation_expression type: (_) @call)
(base_list [(identifier) (qualified_name) (generic_name)] @base)
(attribute name: (_) @type)
(using_directive) @import
(type_parameter (identifier) @generic)
(parameter type: (_) @of name: (identifier) @bound)
(field_declaration (variable_declaration type: (_) @of (variable_declarator name: (_) @bound)))
(property_declaration type: (_) @of name: (identifier) @bound)
(local_declaration_statement (variable_declaration (variable_declarator name: (_) @local)))
(foreach_statement left: (identifier) @local)
""",
    query_text="""
(namespace_declaration name: (_) @name) @module
(class_declaration name: (_) @name) @class
(record_declaration name: (_) @name) @class
(struct_declaration name: (_) @name) @struct
(interface_declaration name: (_) @name) @interface
(enum_declaration name: (_) @name) @enum
(delegate_declaration name: (_) @name) @type
(method_declaration name: (_) @name) @method
(constructor_declaration name: (_) @name) @method
(property_declaration name: (_) @name) @method
(local_function_statement name: (_) @name) @function
(field_declaration (modifier "const")
  (variable_declaration (variable_declarator name: (_) @name))) @constant
(field_declaration (modifier "const")
  (variable_declaration "," . (variable_declarator name: (_) @name) @constant)) @range
(enum_member_declaration name: (_) @name) @constant
(comment) @comment
(using_directive) @skip
(file_scoped_namespace_declaration name: (_) @package)
""",
)
