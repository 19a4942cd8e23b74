"""Python, with canonical paths of the form `package.module.Class.method`."""

import builtins
from typing import TYPE_CHECKING

from treadle.code.languages.base import Language, packaged_grammar, text_of
from treadle.code.references import Imported

if TYPE_CHECKING:
    from tree_sitter import Node


def _module(path: str, _package: str) -> str:
    """Return the dotted path of a module, from below the last `src` folder or from the root."""
    parts = path.rpartition(".")[0].split("/")
    if "src" in parts[:-1]:
        parts = parts[len(parts) - parts[::-1].index("src") :]
    if parts[-1] == "__init__" and len(parts) > 1:
        parts.pop()
    return ".".join(parts)


def _imports(node: "Node") -> list[Imported]:
    """Return the names that an import statement binds.

    Other files can import a name from this module if it is bound with `from` or `as`.
    """
    source = node.child_by_field_name("module_name")
    module = text_of(source) if source is not None else ""
    found: list[Imported] = []
    for child in node.children_by_field_name("name"):
        alias = child.child_by_field_name("alias")
        named = child.child_by_field_name("name") if alias is not None else child
        name = text_of(named) if named is not None else ""
        bound = text_of(alias) if alias is not None else name
        if source is not None:
            found.append(Imported(bound, module, name, bound))
        elif alias is not None:
            found.append(Imported(bound, name, "", bound))
        else:
            found.append(Imported(name, name))
    if source is not None and any(child.type == "wildcard_import" for child in node.children):
        found.append(Imported("*", module, "", "*"))
    return found


_REFERENCES = """
(call function: (_) @call)
(decorator (identifier) @call)
(decorator (attribute) @call)
(type [(identifier) (attribute)] @type)
(type (generic_type (identifier) @type))
(type (binary_operator (identifier) @type))
(type (binary_operator (attribute) @type))
(type (binary_operator (subscript value: (identifier) @type)))
(type (binary_operator (binary_operator (identifier) @type)))
(typed_parameter type: (type (string (string_content) @type)))
(typed_default_parameter type: (type (string (string_content) @type)))
(function_definition return_type: (type (string (string_content) @type)))
(assignment type: (type (string (string_content) @type)))
(except_clause value: [(identifier) (attribute)] @type)
(except_clause value: (as_pattern [(identifier) (attribute)] @type))
(except_clause value: (tuple [(identifier) (attribute)] @type))
(call function: (identifier) @_is arguments: (argument_list (_) [(identifier) (attribute)] @type)
  (#any-of? @_is "isinstance" "issubclass"))
(class_definition superclasses: (argument_list [(identifier) (attribute)] @base))
(class_definition superclasses: (argument_list (subscript value: (_) @base)))
(import_statement) @import
(import_from_statement) @import
(parameters [(identifier) @local (list_splat_pattern (identifier) @local)
  (dictionary_splat_pattern (identifier) @local) (default_parameter name: (identifier) @local)
  (typed_parameter (list_splat_pattern (identifier) @local))
  (typed_parameter (dictionary_splat_pattern (identifier) @local))])
(lambda_parameters (identifier) @local)
(lambda_parameters (default_parameter name: (identifier) @local))
(parameters (typed_parameter . (identifier) @bound type: (type) @of))
(parameters (typed_default_parameter name: (identifier) @bound type: (type) @of))
(assignment left: (identifier) @bound type: (type) @of)
(assignment left: (identifier) @bound !type right: (call function: [(identifier) (attribute)] @of))
(assignment left: (identifier) @local)
(assignment left: (pattern_list (identifier) @local))
(assignment left: (tuple_pattern (identifier) @local))
(augmented_assignment left: (identifier) @local)
(named_expression name: (identifier) @local)
(for_statement left: (identifier) @local)
(for_statement left: (_ (identifier) @local))
(for_in_clause left: (identifier) @local)
(for_in_clause left: (_ (identifier) @local))
(as_pattern_target (identifier) @local)
(with_item value: (as_pattern (call function: [(identifier) (attribute)] @of)
  alias: (as_pattern_target (identifier) @bound)))
(assignment left: (attribute object: (identifier) @_self attribute: (identifier) @field)
  type: (type) @of (#eq? @_self "self"))
(assignment left: (attribute object: (identifier) @_self attribute: (identifier) @field)
  !type right: (call function: [(identifier) (attribute)] @of) (#eq? @_self "self"))
(assignment left: (attribute object: (identifier) @_self attribute: (identifier) @field)
  !type right: (identifier) @same (#eq? @_self "self"))
"""

PYTHON = Language(
    name="python",
    extensions=(".py", ".pyi", ".pyw"),
    grammar=packaged_grammar("tree_sitter_python"),
    separator=".",
    prefix=_module,
    doc_in_body=True,
    reference_text=_REFERENCES,
    imports=_imports,
    self_names=frozenset({"self", "cls", "super"}),
    builtins=frozenset(dir(builtins)) - {"super"},
    query_text="""
(decorated_definition (function_definition name: (identifier) @name) @function) @range
(decorated_definition (class_definition name: (identifier) @name) @class) @range
(function_definition name: (identifier) @name) @function
(class_definition name: (identifier) @name) @class
(module (type_alias_statement left: (type (identifier) @name)) @type)
(module (expression_statement (assignment left: (identifier) @name)) @constant)
(module (expression_statement (assignment left: (identifier) @name)) @constant
  . (expression_statement (string)) @below)
(module (expression_statement (assignment left: [(pattern_list (identifier) @name @constant)
  (tuple_pattern (identifier) @name @constant) (list_pattern (identifier) @name @constant)]))
  @range)
(module (expression_statement (assignment
  right: (assignment left: (identifier) @name @constant))) @range)
(class_definition body: (block (expression_statement
  (assignment left: (identifier) @name) @constant)))
(class_definition body: (block (expression_statement
  (assignment left: (identifier) @name) @constant) . (expression_statement (string)) @below))
(class_definition body: (block (expression_statement (assignment
  left: [(pattern_list (identifier) @name @constant) (tuple_pattern (identifier) @name @constant)]
  )) @range))
(comment) @comment
(import_statement) @skip
(import_from_statement) @skip
(future_import_statement) @skip
""",
)
