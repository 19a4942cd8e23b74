"""What JavaScript and TypeScript share: `module/path.Class.method`, the file without its suffix."""

SEPARATOR = "."

OUTER_ONLY = frozenset({"variable_declarator", "assignment_expression"})
"""Local variables that hold functions are part of the function around them."""


def module(path: str, _package: str) -> str:
    """The path of the file from the root, without its suffix (and `.d` of a declaration file)."""
    return path.rpartition(".")[0].removesuffix(".d")


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
(program (expression_statement (assignment_expression left: (member_expression) @name
  right: [(arrow_function) (function_expression) (generator_function)]) @function) @range)
(program (lexical_declaration (variable_declarator name: (identifier) @name) @constant) @range)
(program (variable_declaration (variable_declarator name: (identifier) @name) @constant) @range)
(program (export_statement
  (lexical_declaration (variable_declarator name: (identifier) @name) @constant)) @range)
(comment) @comment
(import_statement) @skip
"""
