"""What a language module declares: its grammar, a query for its items, and how they are named."""

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
    """A function that gives the grammar which a function of a package returns."""

    def load() -> object:
        grammar: object = getattr(_binding(package), function)()
        return grammar

    return load


def _binding(package: str) -> object:
    """The extension module of a package, without the package.

    The package imports `importlib.resources` to read queries that are not used here. That takes
    half of the time in which a worker starts.
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
    """The name of a definition, and the scopes that its own text puts in front of it.

    `void Foo::bar()` has the name `bar` and the scope `("Foo",)`; most definitions have none.
    """

    name: str
    scopes: tuple[str, ...] = ()


def plain_name(node: "Node", _captured: dict[str, "Node"]) -> Naming:
    """The text of the node that the query captured as `@name`."""
    return Naming(text_of(node))


def text_of(node: "Node") -> str:
    """The source text of a node; bytes that are no UTF-8 become replacement characters."""
    return (node.text or b"").decode("utf-8", "replace")


def no_package(path: str, _package: str) -> str:
    """For languages whose canonical paths do not start with where the file is."""
    del path
    return ""


def by_package(_path: str, package: str) -> str:
    """For languages whose canonical paths start with the package or namespace of the file."""
    return package


def no_imports(_node: "Node") -> list[Imported]:
    """For languages whose imports are not read."""
    return []


def no_receiver(_item: Item) -> str:
    """For languages whose methods stand inside of their type."""
    return ""


@dataclass(frozen=True)
class Language:
    """One language.

    The query captures a definition under the name of its `Kind`, its `@name`, and, where a
    wrapper belongs to it (decorators, `export`, `template`), the wrapper as `@range`, and a
    docstring after it as `@below`. Alone stand `@comment` and `@attribute` (joined to the
    definition below them), `@skip` (imports, not worth finding), `@package`, and
    `@embedded` (braced tokens that are parsed as code of their own).

    `prefix(path, package)` gives the canonical path of the file. Definitions whose node type is
    in `outer_only` count only outside of functions, unless a variable holds a function and
    `local_functions` is set.

    The reference query captures the callee of a `@call`, a `@type` that is used, and a `@base`
    that is inherited from or implemented; an `@import` statement, which `imports` reads; a
    `@local` variable or a `@generic` type parameter, which hide names from outside; and a
    `@bound` variable or field, or a `@field` of the type around, with the type `@of` it or, for
    a field, the variable that it is the `@same` as.

    `self_names` stand for the object or type around; with `implicit_self` its members are
    also in reach without them. `builtins` are names that no reference is kept of, unless they
    may be of the repository: the file defines or imports them, imports all names of somewhere,
    or `shares_names` with other files (their calls). `receiver` names the type of a method that
    stands outside.
    """

    name: str
    extensions: tuple[str, ...]
    grammar: Callable[[], object]
    query_text: str
    separator: str
    prefix: Callable[[str, str], str]
    member_separator: str = ""
    """Between a type and its methods, where that is another one; `::` parts constants as well."""
    naming: Callable[["Node", dict[str, "Node"]], Naming] = plain_name
    outer_only: frozenset[str] = frozenset()
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
        """A new parser; the grammar is loaded at the first call."""
        return self._loaded[0]()

    @property
    def query(self) -> "Query":
        """The compiled query for items and references: one walk over a tree finds both."""
        return self._loaded[1]

    @property
    def item_patterns(self) -> int:
        """How many patterns of the query are for items; those for references follow them."""
        return self._loaded[2]
