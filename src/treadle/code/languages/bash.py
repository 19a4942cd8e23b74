"""Shell scripts: functions, and variables at the top of a script."""

from typing import TYPE_CHECKING

from treadle.code.languages.base import Language, no_package, packaged_grammar, text_of
from treadle.code.references import Imported

if TYPE_CHECKING:
    from tree_sitter import Node


def _imports(node: "Node") -> list[Imported]:
    """Return the import of a `source file` command, which binds all names of the file.

    The list is empty if the path is missing or contains a variable.
    """
    argument = node.child_by_field_name("argument")
    text = text_of(argument).strip("\"'") if argument is not None else ""
    return [Imported("*", text)] if text and "$" not in text else []


BASH = Language(
    name="bash",
    extensions=(".sh", ".bash"),
    grammar=packaged_grammar("tree_sitter_bash"),
    separator="/",
    prefix=no_package,
    imports=_imports,
    builtins=frozenset({"source", ".", "echo", "cd", "exit", "return", "set", "test", "printf"}),
    reference_text="""
(command name: (command_name (word) @call))
((command name: (command_name (word) @_source)) @import (#any-of? @_source "source" "."))
""",
    query_text="""
(function_definition name: (word) @name) @function
(redirected_statement body: (function_definition name: (word) @name) @function) @range
(program (variable_assignment name: (variable_name) @name) @constant)
(program (declaration_command (variable_assignment name: (variable_name) @name)) @constant)
(program (variable_assignments (variable_assignment name: (variable_name) @name) @constant))
(comment) @comment
""",
)
