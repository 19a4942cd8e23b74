"""TypeScript and TSX, two grammars with one set of items."""

from treadle.code.languages import ecmascript
from treadle.code.languages.base import Language


def _typescript() -> object:
    import tree_sitter_typescript

    return tree_sitter_typescript.language_typescript()


def _tsx() -> object:
    import tree_sitter_typescript

    return tree_sitter_typescript.language_tsx()


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
(class_body (decorator) @attribute)
"""
)

TYPESCRIPT = Language(
    name="typescript",
    extensions=(".ts", ".mts", ".cts"),
    grammar=_typescript,
    separator=ecmascript.SEPARATOR,
    prefix=ecmascript.module,
    naming=ecmascript.naming,
    outer_only=ecmascript.OUTER_ONLY,
    query_text=_QUERY,
)

TSX = Language(
    name="tsx",
    extensions=(".tsx",),
    grammar=_tsx,
    separator=ecmascript.SEPARATOR,
    prefix=ecmascript.module,
    naming=ecmascript.naming,
    outer_only=ecmascript.OUTER_ONLY,
    query_text=_QUERY,
)
