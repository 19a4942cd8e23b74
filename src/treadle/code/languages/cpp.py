"""C++, with canonical paths of the form `namespace::Class::method`.

A method has this path even if it is defined outside of its class.
"""

from treadle.code.languages import c
from treadle.code.languages.base import Language, no_package, packaged_grammar

CPP = Language(
    name="cpp",
    extensions=(".cc", ".cpp", ".cxx", ".c++", ".hh", ".hpp", ".hxx", ".h++", ".ipp", ".tpp"),
    grammar=packaged_grammar("tree_sitter_cpp"),
    separator="::",
    prefix=no_package,
    naming=c.declared_name,
    top_level_only=c.TOP_LEVEL_ONLY,
    query_text=c.QUERY
    + """
(class_specifier name: (_) @name body: (_)) @class
(namespace_definition name: (_) @name) @module
(alias_declaration name: (_) @name) @type
(concept_definition name: (_) @name) @type
(field_declaration declarator: (function_declarator) @name) @function
(field_declaration declarator: (pointer_declarator declarator: (function_declarator) @name))
  @function
(declaration declarator: (reference_declarator (function_declarator) @name)) @function
(template_declaration (function_definition declarator: (_) @name) @function) @range
(template_declaration (declaration declarator: (function_declarator) @name) @function) @range
(template_declaration (class_specifier name: (_) @name body: (_)) @class) @range
(template_declaration (struct_specifier name: (_) @name body: (_)) @struct) @range
(template_declaration (alias_declaration name: (_) @name) @type) @range
(using_declaration) @skip
""",
)
