"""Python: `package.module.Class.method`."""

from treadle.code.languages.base import Language


def _grammar() -> object:
    import tree_sitter_python

    return tree_sitter_python.language()


def _module(path: str, _package: str) -> str:
    """Dotted module path; what stands before the last `src` folder is not part of it."""
    parts = path.rpartition(".")[0].split("/")
    if "src" in parts[:-1]:
        parts = parts[len(parts) - parts[::-1].index("src") :]
    if parts[-1] == "__init__" and len(parts) > 1:
        parts.pop()
    return ".".join(parts)


PYTHON = Language(
    name="python",
    extensions=(".py", ".pyi", ".pyw"),
    grammar=_grammar,
    separator=".",
    prefix=_module,
    doc_in_body=True,
    query_text="""
(decorated_definition (function_definition name: (identifier) @name) @function) @range
(decorated_definition (class_definition name: (identifier) @name) @class) @range
(function_definition name: (identifier) @name) @function
(class_definition name: (identifier) @name) @class
(module (type_alias_statement left: (type (identifier) @name)) @type)
(module (expression_statement (assignment left: (identifier) @name)) @constant)
(module (expression_statement (assignment left: (identifier) @name)) @constant
  . (expression_statement (string)) @below)
(comment) @comment
(import_statement) @skip
(import_from_statement) @skip
(future_import_statement) @skip
""",
)
