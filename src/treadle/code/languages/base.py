"""What a language module declares: its grammar, a query for its items, and how they are named."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Query


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


@dataclass(frozen=True)
class Language:
    """One language.

    The query captures a definition under the name of its `Kind`, its `@name`, and, where a
    wrapper belongs to it (decorators, `export`, `template`), the wrapper as `@range`, and a
    docstring after it as `@below`. Alone stand `@comment` and `@attribute` (joined to the
    definition below them), `@skip` (imports, not worth finding), `@package`, and
    `@embedded` (braced tokens that are parsed as code of their own).

    `prefix(path, package)` gives the canonical path of the file. Definitions whose node type is
    in `outer_only` count only outside of functions.
    """

    name: str
    extensions: tuple[str, ...]
    grammar: Callable[[], object]
    query_text: str
    separator: str
    prefix: Callable[[str, str], str]
    naming: Callable[["Node", dict[str, "Node"]], Naming] = plain_name
    outer_only: frozenset[str] = frozenset()
    doc_in_body: bool = False

    @cached_property
    def _loaded(self) -> "tuple[Callable[[], Parser], Query]":
        import tree_sitter

        grammar = tree_sitter.Language(self.grammar())
        return partial(tree_sitter.Parser, grammar), tree_sitter.Query(grammar, self.query_text)

    def parser(self) -> "Parser":
        """A new parser; the grammar is loaded at the first call."""
        return self._loaded[0]()

    @property
    def query(self) -> "Query":
        """The compiled query."""
        return self._loaded[1]
