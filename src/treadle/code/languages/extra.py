"""Languages of the optional dependency `grammars`. Their definitions are read, but no references.

The package `semble-grammars` has the grammars. Without this package, files in these languages are
split by lines. `WIDE` has the languages whose definitions a short query finds well. The package has
more grammars, mostly for texts and configurations.
"""

from functools import partial
from importlib.util import find_spec

from treadle.code.languages.base import Language, by_package, no_package
from treadle.code.languages.limits import NoGrammarError
from treadle.code.model import EXTRA_GRAMMARS


def _grammar(name: str) -> object:
    from semble_grammars import get_language  # type: ignore[import-untyped]  # an extra

    try:
        return get_language(name)
    except Exception as error:  # the first use unpacks the grammar, which may fail
        raise NoGrammarError from error


def unpacked_grammar(language: object) -> tuple[str, ...]:
    """Unpack a grammar of this module, and return its folder, which a worker must read.

    The result is empty for other languages. A worker that parses cannot write files, so it cannot
    unpack a grammar itself.
    """
    if language not in WIDE or not isinstance(language, Language):
        return ()
    try:
        language.grammar()
    except NoGrammarError:
        return ()
    from semble_grammars.cache import cache_dir  # type: ignore[import-untyped]  # an extra

    return (str(cache_dir()),)


def _language(name: str, extensions: tuple[str, ...], query: str, separator: str = ".") -> Language:
    return Language(
        name=name,
        extensions=extensions,
        grammar=partial(_grammar, name),
        query_text=query,
        separator=separator,
        prefix=by_package if "@package" in query else no_package,
    )


WIDE = (
    _language("lua", (".lua",), """
(function_declaration name: (_) @name) @function
(variable_declaration (assignment_statement (variable_list . name: (identifier) @name)
  (expression_list . value: (function_definition))) @function) @range
(assignment_statement (variable_list . name: (_) @name)
  (expression_list . value: (function_definition))) @function
(comment) @comment
"""),
    _language("scala", (".scala", ".sc"), """
(package_clause name: (_) @package)
(class_definition name: (identifier) @name) @class
(object_definition name: (identifier) @name) @class
(trait_definition name: (identifier) @name) @trait
(enum_definition name: (identifier) @name) @enum
(function_definition name: (_) @name) @function
(function_declaration name: (_) @name) @function
(type_definition name: (type_identifier) @name) @type
(comment) @comment
(block_comment) @comment
(import_declaration) @skip
"""),
    _language("dart", (".dart",), """
(class_definition name: (identifier) @name) @class
(mixin_declaration (identifier) @name) @class
(extension_declaration name: (identifier) @name) @class
(enum_declaration name: (identifier) @name) @enum
(type_alias . (type_identifier) @name) @type
((method_signature [(function_signature name: (identifier) @name)
  (getter_signature name: (identifier) @name) (setter_signature name: (identifier) @name)]) @method
  . (function_body) @below)
(declaration (function_signature name: (identifier) @name)) @method
(declaration (constructor_signature name: (identifier) @name)) @method
(program (function_signature name: (identifier) @name) @function . (function_body) @below)
(comment) @comment
(documentation_comment) @comment
(import_or_export) @skip
"""),
    _language("zig", (".zig",), """
(function_declaration name: (identifier) @name) @function
(variable_declaration (identifier) @name (struct_declaration)) @struct
(variable_declaration (identifier) @name (enum_declaration)) @enum
(variable_declaration (identifier) @name (union_declaration)) @struct
(comment) @comment
"""),
    _language("haskell", (".hs",), """
(header module: (_) @package)
(data_type name: (_) @name) @struct
(newtype name: (_) @name) @struct
(type_synomym name: (_) @name) @type
(class name: (_) @name) @trait
(instance name: (_) @name) @impl
(declarations (signature) @attribute)
(class_declarations (signature name: (variable) @name) @method)
(declarations (function name: (variable) @name) @function)
(declarations (bind name: (variable) @name) @constant)
(comment) @comment
(haddock) @comment
(import) @skip
"""),
    _language("elixir", (".ex", ".exs"), """
(call target: (identifier) @_is (arguments . (alias) @name) (#eq? @_is "defmodule")) @module
(call target: (identifier) @_is (arguments . (alias) @name) (#eq? @_is "defprotocol")) @interface
(call target: (identifier) @_is (arguments . (call target: (identifier) @name))
  (#any-of? @_is "def" "defp")) @function
(call target: (identifier) @_is (arguments . (identifier) @name)
  (#any-of? @_is "def" "defp")) @function
(call target: (identifier) @_is (arguments . (call target: (identifier) @name))
  (#any-of? @_is "defmacro" "defmacrop")) @macro
(unary_operator operand: (call target: (identifier) @_is)
  (#any-of? @_is "doc" "moduledoc" "spec")) @attribute
(comment) @comment
"""),
    _language("julia", (".jl",), """
(module_definition name: (identifier) @name) @module
(struct_definition (type_head (identifier) @name)) @struct
(abstract_definition (type_head (identifier) @name)) @type
(function_definition (signature (call_expression . (identifier) @name))) @function
(assignment . (call_expression . (identifier) @name)) @function
(macro_definition (signature (call_expression . (identifier) @name))) @macro
(const_statement (assignment . (identifier) @name)) @constant
(line_comment) @comment
(block_comment) @comment
"""),
    _language("r", (".r",), """
(binary_operator lhs: (identifier) @name rhs: (function_definition)) @function
(comment) @comment
"""),
    _language("objc", (".m", ".mm"), """
(class_interface . (identifier) @name) @class
(class_implementation . (identifier) @name) @impl
(protocol_declaration . (identifier) @name) @interface
(method_declaration (identifier) @name) @method
(method_definition (identifier) @name) @method
(function_definition declarator: (function_declarator declarator: (identifier) @name)) @function
(function_definition declarator: (pointer_declarator
  declarator: (function_declarator declarator: (identifier) @name))) @function
(comment) @comment
(preproc_include) @skip
"""),
    _language("ocaml", (".ml",), """
(value_definition . (let_binding pattern: (value_name) @name (parameter)) @function) @range
(value_definition (let_binding pattern: (value_name) @name (parameter)) @function)
(value_definition . (let_binding pattern: (value_name) @name body: (fun_expression)) @function)
  @range
(type_definition (type_binding name: (_) @name)) @type
(module_definition (module_binding . (module_name) @name)) @module
(class_definition (class_binding (class_name) @name)) @class
(method_definition (method_name) @name) @method
(comment) @comment
(open_module) @skip
"""),
    _language("proto", (".proto",), """
(package (full_ident) @package)
(message (message_name) @name) @struct
(enum (enum_name) @name) @enum
(service (service_name) @name) @interface
(rpc (rpc_name) @name) @method
(comment) @comment
(import) @skip
"""),
    _language("graphql", (".graphql", ".gql"), """
(object_type_definition (name) @name) @struct
(interface_type_definition (name) @name) @interface
(enum_type_definition (name) @name) @enum
(input_object_type_definition (name) @name) @struct
(union_type_definition (name) @name) @type
(scalar_type_definition (name) @name) @type
(operation_definition (name) @name) @function
(fragment_definition (fragment_name (name) @name)) @function
(comment) @comment
"""),
    _language("solidity", (".sol",), """
(contract_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @interface
(library_declaration name: (identifier) @name) @class
(struct_declaration name: (identifier) @name) @struct
(enum_declaration name: (identifier) @name) @enum
(function_definition name: (identifier) @name) @function
(modifier_definition name: (identifier) @name) @function
(event_definition name: (identifier) @name) @type
(comment) @comment
(import_directive) @skip
"""),
)  # fmt: skip


def installed() -> bool:
    """Whether the optional dependency is installed."""
    return find_spec(EXTRA_GRAMMARS) is not None
