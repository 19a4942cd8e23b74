"""Kotlin, with canonical paths of the form `com.package.Class.method`."""

from typing import TYPE_CHECKING

from treadle.code.languages.base import Language, by_package, packaged_grammar, text_of
from treadle.code.references import Imported

if TYPE_CHECKING:
    from tree_sitter import Node


def _imports(node: "Node") -> list[Imported]:
    named = node.named_children
    path = text_of(named[0]) if named else ""
    if text_of(node).rstrip().endswith("*"):
        return [Imported("*", path)]
    module, _, member = path.rpartition(".")
    return [Imported(text_of(named[1]) if len(named) > 1 else member, module, member)]


KOTLIN = Language(
    name="kotlin",
    extensions=(".kt", ".kts"),
    grammar=packaged_grammar("tree_sitter_kotlin"),
    separator=".",
    prefix=by_package,
    imports=_imports,
    self_names=frozenset({"this", "super"}),
    implicit_self=True,
    reference_text="""
(call_expression . [(identifier) (navigation_expression)] @call)
(constructor_invocation (user_type) @base)
(delegation_specifier (user_type) @base)
(user_type) @type
(import) @import
(type_parameter (identifier) @generic)
(parameter (identifier) @bound (user_type) @of)
(class_parameter (modifiers) (identifier) @bound (user_type) @of)
(variable_declaration (identifier) @local)
(lambda_parameters (variable_declaration (identifier) @local))
""",
    query_text="""
(package_header (qualified_identifier) @package)
(class_declaration "interface" name: (_) @name) @interface
(class_declaration (modifiers (class_modifier "enum")) name: (_) @name) @enum
(class_declaration name: (_) @name) @class
(object_declaration name: (_) @name) @class
(function_declaration name: (_) @name) @function
(type_alias type: (_) @name) @type
(property_declaration (modifiers (property_modifier "const"))
  (variable_declaration . (identifier) @name)) @constant
(source_file (property_declaration (variable_declaration . (identifier) @name)) @constant)
(enum_entry (identifier) @name) @constant
(line_comment) @comment
(block_comment) @comment
(import) @skip
""",
)
