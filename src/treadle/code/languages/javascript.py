"""JavaScript, with JSX. The rules are those of `ecmascript`."""

from treadle.code.languages import ecmascript
from treadle.code.languages.base import Language, packaged_grammar

JAVASCRIPT = Language(
    name="javascript",
    extensions=(".js", ".jsx", ".mjs", ".cjs"),
    grammar=packaged_grammar("tree_sitter_javascript"),
    separator=ecmascript.SEPARATOR,
    prefix=ecmascript.module,
    naming=ecmascript.naming,
    top_level_only=ecmascript.TOP_LEVEL_ONLY,
    local_functions=True,
    reference_text=ecmascript.REFERENCES
    + """
(formal_parameters (identifier) @local)
(formal_parameters (assignment_pattern left: (identifier) @local))
(class_heritage [(identifier) (member_expression)] @base)
(jsx_opening_element name: (_) @call)
(jsx_self_closing_element name: (_) @call)
""",
    imports=ecmascript.imports,
    self_names=ecmascript.SELF_NAMES,
    builtins=ecmascript.BUILTINS,
    query_text=ecmascript.QUERY
    + """
(class_body (field_definition property: (_) @name value: (arrow_function)) @method)
""",
)
