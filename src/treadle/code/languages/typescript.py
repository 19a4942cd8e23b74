"""TypeScript and TSX. The two grammars have the same rules for items."""

from treadle.code.languages import ecmascript
from treadle.code.languages.base import Language, packaged_grammar

_QUERY = (
    ecmascript.QUERY
    + """
(abstract_class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(enum_declaration name: (_) @name) @enum
(type_alias_declaration name: (_) @name) @type
(internal_module name: (_) @name) @module
(module name: (_) @name) @module
(function_signature name: (_) @name) @function
(class_body (public_field_definition name: (_) @name value: (arrow_function)) @method)
(class_body (abstract_method_signature name: (_) @name) @method)
(interface_body (method_signature name: (_) @name) @method)
(export_statement (abstract_class_declaration name: (_) @name) @class) @range
(export_statement (interface_declaration name: (_) @name) @interface) @range
(export_statement (enum_declaration name: (_) @name) @enum) @range
(export_statement (type_alias_declaration name: (_) @name) @type) @range
(export_statement (internal_module name: (_) @name) @module) @range
(export_statement (function_signature name: (_) @name) @function) @range
(ambient_declaration (class_declaration name: (_) @name) @class) @range
(ambient_declaration (function_signature name: (_) @name) @function) @range
(enum_body (property_identifier) @name @constant)
(enum_body (enum_assignment name: (_) @name) @constant)
(class_body (decorator) @attribute)
"""
)

_REFERENCES = (
    ecmascript.REFERENCES
    + """
(type_identifier) @type
(nested_type_identifier) @type
(extends_clause value: [(identifier) (member_expression)] @base)
(implements_clause [(type_identifier) (nested_type_identifier)] @base)
(implements_clause (generic_type name: (_) @base))
(extends_type_clause type: [(type_identifier) (nested_type_identifier)] @base)
(extends_type_clause type: (generic_type name: (_) @base))
(decorator (identifier) @call)
(type_parameter name: (type_identifier) @generic)
(infer_type (type_identifier) @generic)
(mapped_type_clause name: (type_identifier) @generic)
(required_parameter pattern: (identifier) @bound type: (type_annotation (_) @of))
(optional_parameter pattern: (identifier) @bound type: (type_annotation (_) @of))
(required_parameter pattern: (identifier) @local)
(optional_parameter pattern: (identifier) @local)
(variable_declarator name: (identifier) @bound type: (type_annotation (_) @of))
(public_field_definition name: (_) @bound type: (type_annotation (_) @of))
(public_field_definition name: (_) @bound !type
  value: (new_expression constructor: [(identifier) (member_expression)] @of))
(required_parameter (accessibility_modifier) pattern: (identifier) @field
  type: (type_annotation (_) @of))
"""
)

TYPESCRIPT = Language(
    name="typescript",
    extensions=(".ts", ".mts", ".cts"),
    grammar=packaged_grammar("tree_sitter_typescript", "language_typescript"),
    separator=ecmascript.SEPARATOR,
    prefix=ecmascript.module,
    naming=ecmascript.naming,
    top_level_only=ecmascript.TOP_LEVEL_ONLY,
    local_functions=True,
    reference_text=_REFERENCES,
    imports=ecmascript.imports,
    self_names=ecmascript.SELF_NAMES,
    builtins=ecmascript.BUILTINS,
    query_text=_QUERY,
)

TSX = Language(
    name="tsx",
    extensions=(".tsx",),
    grammar=packaged_grammar("tree_sitter_typescript", "language_tsx"),
    separator=ecmascript.SEPARATOR,
    prefix=ecmascript.module,
    naming=ecmascript.naming,
    top_level_only=ecmascript.TOP_LEVEL_ONLY,
    local_functions=True,
    reference_text=_REFERENCES
    + """
(jsx_opening_element name: (_) @call)
(jsx_self_closing_element name: (_) @call)
""",
    imports=ecmascript.imports,
    self_names=ecmascript.SELF_NAMES,
    builtins=ecmascript.BUILTINS,
    query_text=_QUERY,
)
