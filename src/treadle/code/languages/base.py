"""Describes a language: its grammar, the query for its items, and the names of items."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import TYPE_CHECKING

from treadle.code.model import Item
from treadle.code.references import Imported

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Query


def packaged_grammar(package: str, function: str = "language") -> Callable[[], object]:
    """Return a function that loads the grammar of a package."""

    def load() -> object:
        grammar: object = getattr(_binding(package), function)()
        return grammar

    return load


def _binding(package: str) -> object:
    """Return the extension module of a package, without importing the package itself.

    The package imports `importlib.resources` to read queries that are not used here. This import
    takes half of the start time of a worker.
    """
    found = find_spec(package)
    folders = None if found is None else found.submodule_search_locations
    spec = PathFinder.find_spec(f"{package}._binding", folders) if folders else None
    if spec is None or spec.loader is None:
        return import_module(package)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass(frozen=True, slots=True)
class Naming:
    """The name of a definition, and the outer scopes that its own text states.

    `void Foo::bar()` has the name `bar` and the scope `("Foo",)`. Most definitions have no scopes.
    """

    name: str
    scopes: tuple[str, ...] = ()


def plain_name(node: "Node", _captured: dict[str, "Node"]) -> Naming:
    """Return the text of the node that the query captured as `@name`."""
    return Naming(text_of(node))


def text_of(node: "Node") -> str:
    """Return the source text of a node. Bytes that are not UTF-8 become replacement characters."""
    return (node.text or b"").decode("utf-8", "replace")


def no_package(path: str, _package: str) -> str:
    """Return an empty prefix, for languages whose canonical paths do not name the file."""
    del path
    return ""


def by_package(_path: str, package: str) -> str:
    """Return the package or namespace of the file, as the prefix of its canonical paths."""
    return package


def no_imports(_node: "Node") -> list[Imported]:
    """Return an empty list, for languages whose imports are not read."""
    return []


def no_receiver(_item: Item) -> str:
    """Return an empty name, for languages whose methods are inside their type."""
    return ""


@dataclass(frozen=True)
class Language:
    """The grammar and the rules of one language.

    The query captures a definition under the name of its `Kind`, and the name of the definition as
    `@name`. The query also captures the code around a definition, such as decorators, `export` or
    `template`, as `@range`, and a docstring below the definition as `@below`. Comments and
    attributes, which are joined to the definition below them, are `@comment` and `@attribute`.
    Imports, which are not searched, are `@skip`. Tokens in braces that are parsed as code are
    `@embedded`. The name of the package is `@package`.

    `prefix(path, package)` returns the prefix of all canonical paths in the file. Definitions whose
    node type is in `top_level_only` become items only outside of functions. With `local_functions`,
    a local variable that holds a function becomes an item too.

    The reference query captures the callee of a `@call`, a used `@type`, a `@base` type, and an
    `@import` statement, which `imports` reads. The captures `@local` (a variable) and `@generic` (a
    type parameter) hide outer names. The capture `@bound` is a variable or a field, and `@field` is
    a field of the enclosing type. The capture `@of` is the type of the variable or field. The
    capture `@same` is a variable that has the same type as the field.

    `self_names` are the names that mean the enclosing object or type, such as `self`. With
    `implicit_self`, code can use the members of the enclosing type without a receiver. References
    to `builtins` are dropped unless the repository may define these names. That is possible if the
    file defines or imports the name, or has a star import. With `shares_names`, a file may call
    names of other files without an import. `receiver` returns the type of a method that is defined
    outside of its type.
    """

    name: str
    extensions: tuple[str, ...]
    grammar: Callable[[], object]
    query_text: str
    separator: str
    prefix: Callable[[str, str], str]
    member_separator: str = ""
    """The separator between a type and its methods, if it differs from `separator`.

    If this separator is `::`, it also precedes the constants of a type. Any other separator
    precedes only methods.
    """
    naming: Callable[["Node", dict[str, "Node"]], Naming] = plain_name
    top_level_only: frozenset[str] = frozenset()
    local_functions: bool = False
    doc_in_body: bool = False
    reference_text: str = ""
    imports: Callable[["Node"], list[Imported]] = no_imports
    self_names: frozenset[str] = frozenset()
    implicit_self: bool = False
    builtins: frozenset[str] = frozenset()
    shares_names: bool = False
    receiver: Callable[[Item], str] = no_receiver

    @cached_property
    def _loaded(self) -> "tuple[Callable[[], Parser], Query, int]":
        import tree_sitter

        grammar = self.grammar()
        if not isinstance(grammar, tree_sitter.Language):
            grammar = tree_sitter.Language(grammar)
        query = tree_sitter.Query(grammar, self.query_text + self.reference_text)
        starts = map(query.start_byte_for_pattern, range(query.pattern_count))
        patterns = sum(start < len(self.query_text.encode()) for start in starts)
        return partial(tree_sitter.Parser, grammar), query, patterns

    def parser(self) -> "Parser":
        """Return a new parser. The first call loads the grammar."""
        return self._loaded[0]()

    @property
    def query(self) -> "Query":
        """The compiled query for items and references.

        One traversal of a syntax tree finds both.
        """
        return self._loaded[1]

    @property
    def item_patterns(self) -> int:
        """The number of patterns for items.

        In the query, the patterns for references come after the patterns for items.
        """
        return self._loaded[2]
