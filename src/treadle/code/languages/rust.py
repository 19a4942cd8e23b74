"""Rust, with canonical paths of the form `crate::module::Type::method`.

The path of a member of an impl block contains the type of the block. Inline modules are part of the
path. Braced macros at the position of items (`cfg_if! { … }`) are parsed as code.
"""

import re
from typing import TYPE_CHECKING

from treadle.code.languages.base import Language, Naming, packaged_grammar, text_of
from treadle.code.references import Imported

if TYPE_CHECKING:
    from tree_sitter import Node

_TYPE_NAME = re.compile(r"[^\W\d]\w*(?:::[^\W\d]\w*)*")
_OWN_CRATE_FOLDERS = ("tests", "benches", "examples")


def _module(path: str, _package: str) -> str:
    """Return `crate::…` with the path of the file below `src`, `tests`, `benches` or `examples`.

    `build.rs` and each file in `tests`, `benches`, `examples` or `src/bin` is a crate of its own.
    In a workspace, the path of each package begins with `crate`.
    """
    parts = path.rpartition(".")[0].split("/")
    folders = parts[:-1]
    if "src" in folders:
        parts = parts[len(folders) - folders[::-1].index("src") :]
        parts = parts[2:] if parts[0] == "bin" and parts[1:] not in ([], ["mod"]) else parts
    elif parts[-1] == "build":
        parts = []
    else:
        own = [position for position, folder in enumerate(folders) if folder in _OWN_CRATE_FOLDERS]
        parts = parts[own[-1] + 2 :] if own else parts
    if parts and parts[-1] in {"lib", "main", "mod"}:
        parts.pop()
    return "::".join(["crate", *parts])


def _naming(node: "Node", _captured: "dict[str, Node]") -> Naming:
    """Name an impl block after its type, without references and generics."""
    text = text_of(node)
    if node.type in {"identifier", "type_identifier"}:
        return Naming(text)
    match = _TYPE_NAME.search(re.sub(r"&|'\w+|\b(?:mut|dyn|const)\b", " ", text))
    return Naming(match.group().rpartition("::")[2] if match else text)


def _imports(node: "Node") -> list[Imported]:
    """Return all names that a `use` declaration binds.

    Other files can import these names from this file if the declaration is public.
    """
    public = any(child.type == "visibility_modifier" for child in node.children)
    argument = node.child_by_field_name("argument")
    found: list[Imported] = []
    if argument is not None:
        _use_tree(argument, "", public, found, 0)
    return found


def _use_tree(node: "Node", base: str, public: bool, found: list[Imported], depth: int) -> None:
    def joined(part: str) -> str:
        return "::".join(filter(None, (base, part)))

    def bind(path: str, name: str) -> None:
        module, _, member = path.rpartition("::")
        if name != "_":
            bound = name or member
            found.append(Imported(bound, module, member, bound if public else ""))

    path = node.child_by_field_name("path")
    inside = joined(text_of(path)) if path is not None else base
    if node.type in {"scoped_use_list", "use_list"} and depth < _MAX_USE_DEPTH:
        listed = node.child_by_field_name("list") or node
        for child in listed.named_children:
            _use_tree(child, inside, public, found, depth + 1)
    elif node.type == "use_as_clause":
        alias = node.child_by_field_name("alias") or node
        bind(inside, text_of(alias))
    elif node.type == "use_wildcard":
        module = joined(text_of(node).removesuffix("*").rstrip(": "))
        found.append(Imported("*", module, "", "*" if public else ""))
    elif node.type == "self":
        bind(base, "")
    elif node.type in {"identifier", "scoped_identifier", "crate", "super"}:
        bind(joined(text_of(node)), "")


_MAX_USE_DEPTH = 16

_REFERENCES = """
(call_expression function: [(identifier) (scoped_identifier) (field_expression)] @call)
(call_expression function: (generic_function function: (_) @call))
(macro_invocation macro: (_) @call)
(token_tree (identifier) @token . (token_tree))
(struct_expression name: (_) @call)
(type_identifier) @type
(scoped_type_identifier) @type
(impl_item trait: (_) @base)
(trait_item bounds: (trait_bounds [(type_identifier) (scoped_type_identifier)] @base))
(trait_item bounds: (trait_bounds (generic_type type: (_) @base)))
(use_declaration) @import
(type_parameter name: (type_identifier) @generic)
(parameter pattern: (identifier) @bound type: (_) @of)
(field_declaration name: (field_identifier) @bound type: (_) @of)
(let_declaration pattern: (identifier) @bound type: (_) @of)
(let_declaration pattern: (identifier) @bound !type value: (struct_expression name: (_) @of))
(let_declaration pattern: (identifier) @local)
(mut_pattern (identifier) @local)
(tuple_pattern (identifier) @local)
(ref_pattern (identifier) @local)
(field_pattern name: (shorthand_field_identifier) @local)
(field_pattern pattern: (identifier) @local)
(tuple_struct_pattern (identifier) @local)
(for_expression pattern: (identifier) @local)
(closure_parameters (identifier) @local)
(closure_parameters (parameter pattern: (identifier) @local))
(captured_pattern . (identifier) @local)
(match_arm pattern: (match_pattern (identifier) @local))
"""

_BUILTINS = frozenset(
    {
        "_", "Some", "None", "Ok", "Err", "Option", "Result", "Box", "Vec", "String", "Clone",
        "Copy", "Default", "Debug", "Send", "Sync", "Sized", "Iterator", "drop", "matches",
        "vec", "format", "println", "print", "eprintln", "assert", "assert_eq", "assert_ne",
        "debug_assert", "debug_assert_eq", "panic", "unreachable", "todo", "unimplemented",
        "write", "writeln", "cfg", "concat", "stringify", "env", "include_str", "Fn", "FnMut",
        "FnOnce", "Into", "From", "AsRef", "Drop", "PartialEq", "Eq", "Ord", "PartialOrd",
    }
)  # fmt: skip

RUST = Language(
    name="rust",
    extensions=(".rs",),
    grammar=packaged_grammar("tree_sitter_rust"),
    separator="::",
    prefix=_module,
    naming=_naming,
    reference_text=_REFERENCES,
    imports=_imports,
    self_names=frozenset({"Self", "self"}),
    builtins=_BUILTINS,
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
(enum_variant name: (identifier) @name) @constant
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
