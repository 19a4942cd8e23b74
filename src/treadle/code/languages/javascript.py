"""JavaScript, with JSX."""

from treadle.code.languages import ecmascript
from treadle.code.languages.base import Language


def _grammar() -> object:
    import tree_sitter_javascript

    return tree_sitter_javascript.language()


JAVASCRIPT = Language(
    name="javascript",
    extensions=(".js", ".jsx", ".mjs", ".cjs"),
    grammar=_grammar,
    separator=ecmascript.SEPARATOR,
    prefix=ecmascript.module,
    naming=ecmascript.naming,
    outer_only=ecmascript.OUTER_ONLY,
    query_text=ecmascript.QUERY
    + """
(class_body (field_definition property: (_) @name value: (arrow_function)) @method)
""",
)
