"""The declaration of a language: its grammar, a query for its items, and their names."""

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
    """A function that returns the grammar of a package."""

    def load() -> object:
        grammar: object = getattr(_binding(package), function)()
        return grammar

    return load


def _binding(package: str) -> object:
    """The extension module of a package, without the package itself.

    The package imports `importlib.resources` to read queries that are not used here. That takes
    half of the start time of a worker.
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
    """The name of a definition, and the scopes that its own text adds.

    `void Foo::bar()` has the name `bar` and the scope `("Foo",)`; most definitions have no scopes.
    """

    name: str
    scopes: tuple[str, ...] = ()


def plain_name(node: "Node", _captured: dict[str, "Node"]) -> Naming:
    """The text of the node that the query captured as `@name`."""
    return Naming(text_of(node))


def text_of(node: "Node") -> str:
    """The source text of a node; bytes that are not UTF-8 become replacement characters."""
    return (node.text or b"").decode("utf-8", "replace")


def no_package(path: str, _package: str) -> str:
    """For languages whose canonical paths do not begin with the path of the file."""
    del path
    return ""


def by_package(_path: str, package: str) -> str:
    """For languages whose canonical paths begin with the package or namespace of the file."""
    return package


def no_imports(_node: "Node") -> list[Imported]:
    """For languages whose imports are not read."""
    return []


def no_receiver(_item: Item) -> str:
    """For languages whose methods are inside their type."""
    return ""


@dataclass(frozen=True)
class Language:
    """One language.

    The query captures a definition under the name of its `Kind`, its `@name`, a wrapper such as
    decorators, `export` or `template` as `@range`, and a docstring after it as `@below`. Other
    captures are `@comment` and `@attribute` (joined to the definition below them), `@skip`
    (imports, which are not searched), `@package`, and `@embedded` (tokens in braces that are parsed
    as code).

    `prefix(path, package)` returns the canonical path of the file. Definitions whose node type is
    in `top_level_only` count only outside of functions, unless a variable holds a function and
    `local_functions` is set.

    The reference query captures the callee of a `@call`, a used `@type`, a `@base` type, and an
    `@import` statement, which `imports` reads. It captures a `@local` variable and a `@generic`
    type parameter, which hide outer names. It captures a `@bound` variable or field, and a `@field`
    of the enclosing type, with its type `@of` or, for a field, with the variable that it is the
    `@same` as.

    `self_names` mean the enclosing object or type; with `implicit_self` its members need no
    receiver. References to `builtins` are dropped unless the repository may define them: the file
    defines or imports them, has a star import, or `shares_names` with other files (for calls).
    `receiver` names the type of a method outside of it.
    """

    name: str
    extensions: tuple[str, ...]
    grammar: Callable[[], object]
    query_text: str
    separator: str
    prefix: Callable[[str, str], str]
    member_separator: str = ""
    """The separator between a type and its methods if it differs; `::` is also used for
    constants."""
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
        """A new parser; the first call loads the grammar."""
        return self._loaded[0]()

    @property
    def query(self) -> "Query":
        """The compiled query for items and references, so that one walk over a tree finds both."""
        return self._loaded[1]

    @property
    def item_patterns(self) -> int:
        """The number of patterns for items; the patterns for references follow them."""
        return self._loaded[2]
