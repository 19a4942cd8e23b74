r"""PHP, with canonical paths of the form `Namespace\Class::method`."""

from typing import TYPE_CHECKING

from treadle.code.languages.base import Language, by_package, packaged_grammar, text_of
from treadle.code.references import Imported

if TYPE_CHECKING:
    from tree_sitter import Node


def _imports(node: "Node") -> list[Imported]:
    r"""Return the names that a `use` such as `use A\B as C` binds.

    Grouped declarations such as `use A\{B, C}` are not read.
    """
    found: list[Imported] = []
    for clause in node.named_children:
        if clause.type == "namespace_use_clause" and clause.named_child_count:
            alias = clause.child_by_field_name("alias")
            path = next(
                (text_of(child) for child in clause.named_children if "name" in child.type), ""
            )
            module, _, member = path.strip("\\").rpartition("\\")
            found.append(Imported(text_of(alias) if alias is not None else member, module, member))
    return found


PHP = Language(
    name="php",
    extensions=(".php", ".phtml"),
    grammar=packaged_grammar("tree_sitter_php", "language_php"),
    separator="\\",
    member_separator="::",
    prefix=by_package,
    imports=_imports,
    self_names=frozenset({"$this", "self", "static", "parent"}),
    reference_text="""
(function_call_expression function: [(name) (qualified_name)] @call)
(member_call_expression object: (variable_name) @receiver name: (name) @call)
(scoped_call_expression scope: (_) @receiver name: (name) @call)
(object_creation_expression [(name) (qualified_name)] @call)
(named_type) @type
(base_clause (_) @base)
(class_interface_clause (_) @base)
(class_declaration body: (declaration_list (use_declaration (name) @base)))
(namespace_use_declaration) @import
(simple_parameter type: (named_type) @of name: (variable_name) @bound)
""",
    query_text="""
(namespace_definition name: (_) @package)
(class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(trait_declaration name: (_) @name) @trait
(enum_declaration name: (_) @name) @enum
(method_declaration name: (_) @name) @method
(function_definition name: (_) @name) @function
(const_declaration (const_element . (name) @name)) @constant
(const_declaration "," . (const_element . (name) @name) @constant) @range
(enum_case name: (_) @name) @constant
(comment) @comment
(namespace_use_declaration) @skip
""",
)
