"""Swift, with canonical paths of the form `Type.method`, also for members of an extension."""

from treadle.code.languages.base import Language, no_package, packaged_grammar

SWIFT = Language(
    name="swift",
    extensions=(".swift",),
    grammar=packaged_grammar("tree_sitter_swift"),
    separator=".",
    prefix=no_package,
    self_names=frozenset({"self", "super", "Self"}),
    implicit_self=True,
    reference_text="""
(call_expression . [(simple_identifier) (navigation_expression)] @call)
(inheritance_specifier inherits_from: (_) @base)
(user_type (type_identifier)) @type
(type_parameter (type_identifier) @generic)
(parameter name: (simple_identifier) @bound (user_type) @of)
(property_declaration name: (pattern (simple_identifier) @bound)
  (type_annotation (user_type) @of))
(property_declaration name: (pattern (simple_identifier) @local))
(lambda_parameter name: (simple_identifier) @local)
""",
    query_text="""
(class_declaration declaration_kind: "class" name: (_) @name) @class
(class_declaration declaration_kind: "actor" name: (_) @name) @class
(class_declaration declaration_kind: "struct" name: (_) @name) @struct
(class_declaration declaration_kind: "enum" name: (_) @name) @enum
(class_declaration declaration_kind: "extension" name: (user_type) @name) @impl
(protocol_declaration name: (_) @name) @interface
(function_declaration name: (simple_identifier) @name) @function
(protocol_function_declaration name: (simple_identifier) @name) @method
(init_declaration name: (_) @name) @method
(typealias_declaration . name: (type_identifier) @name) @type
(source_file (property_declaration name: (pattern (simple_identifier) @name)) @constant)
(source_file (property_declaration "," .
  name: (pattern (simple_identifier) @name @constant)) @range)
(enum_entry . name: (simple_identifier) @name) @constant
(enum_entry "," . name: (simple_identifier) @name @constant) @range
(comment) @comment
(multiline_comment) @comment
(import_declaration) @skip
""",
)
