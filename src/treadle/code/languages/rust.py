"""Rust: `crate::module::Type::method`, with impl blocks under their type and inline modules.

Braced macros at the place of items (`cfg_if! { … }`) are read as the code that they hold.
"""

import re
from typing import TYPE_CHECKING

from treadle.code.languages.base import Language, Naming, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_TYPE_NAME = re.compile(r"[^\W\d]\w*(?:::[^\W\d]\w*)*")
_OWN_CRATE_FOLDERS = ("tests", "benches", "examples")


def _grammar() -> object:
    import tree_sitter_rust

    return tree_sitter_rust.language()


def _module(path: str, _package: str) -> str:
    """`crate::…` by the file's place below `src`, or below `tests`, `benches` or `examples`.

    A file of the latter is a crate of its own; in a workspace each package is `crate` again.
    """
    parts = path.rpartition(".")[0].split("/")
    folders = parts[:-1]
    if "src" in folders:
        parts = parts[len(folders) - folders[::-1].index("src") :]
    else:
        own = [place for place, folder in enumerate(folders) if folder in _OWN_CRATE_FOLDERS]
        parts = parts[own[-1] + 2 :] if own else parts
    if parts and parts[-1] in {"lib", "main", "mod"}:
        parts.pop()
    return "::".join(["crate", *parts])


def _naming(node: "Node", _captured: "dict[str, Node]") -> Naming:
    """An impl block is named by its type without references and generics."""
    text = text_of(node)
    if node.type in {"identifier", "type_identifier"}:
        return Naming(text)
    match = _TYPE_NAME.search(re.sub(r"&|'\w+|\b(?:mut|dyn|const)\b", " ", text))
    return Naming(match.group().rpartition("::")[2] if match else text)


RUST = Language(
    name="rust",
    extensions=(".rs",),
    grammar=_grammar,
    separator="::",
    prefix=_module,
    naming=_naming,
    query_text="""
(function_item name: (identifier) @name) @function
(function_signature_item name: (identifier) @name) @function
(struct_item name: (type_identifier) @name) @struct
(union_item name: (type_identifier) @name) @struct
(enum_item name: (type_identifier) @name) @enum
(trait_item name: (type_identifier) @name) @trait
(impl_item type: (_) @name) @impl
(mod_item name: (identifier) @name body: (_)) @module
(const_item name: (identifier) @name) @constant
(static_item name: (identifier) @name) @constant
(type_item name: (type_identifier) @name) @type
(associated_type name: (type_identifier) @name) @type
(macro_definition name: (identifier) @name) @macro
(source_file (macro_invocation (token_tree) @embedded))
(source_file (expression_statement (macro_invocation (token_tree) @embedded)))
(declaration_list (macro_invocation (token_tree) @embedded))
(line_comment) @comment
(block_comment) @comment
(attribute_item) @attribute
(use_declaration) @skip
(extern_crate_declaration) @skip
""",
)
