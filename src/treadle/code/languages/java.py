"""Java: `com.package.Class.method`."""

from treadle.code.languages.base import Language


def _grammar() -> object:
    import tree_sitter_java

    return tree_sitter_java.language()


def _package(_path: str, package: str) -> str:
    return package


JAVA = Language(
    name="java",
    extensions=(".java",),
    grammar=_grammar,
    separator=".",
    prefix=_package,
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
(line_comment) @comment
(block_comment) @comment
(import_declaration) @skip
""",
)
