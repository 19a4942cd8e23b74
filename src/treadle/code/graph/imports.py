"""What an import leads to in the repository, and what a module passes on to its importers."""

from typing import TYPE_CHECKING

from treadle.code.graph import modules
from treadle.code.graph.families import ES, GO, PACKAGED, PYTHON, RUST, C
from treadle.code.graph.places import Folder, Place
from treadle.code.graph.tables import Graph, Node
from treadle.code.model import Kind
from treadle.code.references import FILE_SCOPE, Import

if TYPE_CHECKING:
    from treadle.code.graph.resolving import Resolver

_DEPTH = 32
"""Imports followed in a row, through modules that pass names on."""


class Imports:
    """Answers for the imports of all files of one index."""

    def __init__(self, resolver: "Resolver") -> None:
        self._resolver = resolver
        self._graph = resolver.graph
        self._crates = resolver.crates
        self._busy: set[object] = set()

    def target(self, file_id: int, entry: Import) -> Place | None:
        """What an import leads to in this repository."""
        key = (file_id, entry)
        if key in self._busy or len(self._busy) > _DEPTH:
            return None
        self._busy.add(key)
        try:
            return self._followed(file_id, entry)
        finally:
            self._busy.discard(key)

    def through_star(self, file_id: int, entry: Import, name: str) -> Place | None:
        """What a name is that `import *` may bring."""
        module = self.target(file_id, entry)
        if module is None:
            language = self._graph.file(file_id)[1]
            packaged = language in PACKAGED
            return self._resolver.exact(name, f"{entry.module}.{name}") if packaged else None
        return self._resolver.member(module, name)

    def passed_on(self, file_id: int, scope: int, name: str, depth: int) -> Place | None:
        """What a module re-exports under a name; in Rust all that it imports."""
        stars: list[Import] = []
        in_rust = self._graph.file(file_id)[1] == RUST
        for entry in self._graph.references(file_id).imports:
            if entry.scope != scope:
                continue
            exported = entry.name if in_rust else entry.exported
            if exported == name:
                return self.target(file_id, entry)
            if exported == "*":
                stars.append(entry)
        for entry in stars:
            module = self.target(file_id, entry)
            found = self._resolver.member(module, name, depth + 1) if module is not None else None
            if found is not None:
                return found
        return None

    def module(self, file_id: int | None) -> Node | None:
        last = self._graph.items(file_id)[-1] if file_id is not None else None
        return last if last is not None and last.kind == Kind.MODULE else None

    def _followed(self, file_id: int, entry: Import) -> Place | None:
        path, language = self._graph.file(file_id)
        if language == RUST:
            return self._crates.use(file_id, entry)
        if language == GO:
            folder = modules.go_package(self._graph, entry.module)
            return Folder(folder) if folder is not None else None
        if language in PACKAGED:
            return self._packaged(entry)
        if language in ES and not entry.module:
            own = self._resolver.defined_in(
                self._graph.items(file_id), None, entry.member, language
            )
            return own or self._local_import(file_id, entry)
        module = self.module(_FINDERS.get(language, _nowhere)(self._graph, path, entry.module))
        return self._resolver.member(module, entry.member) if module and entry.member else module

    def _packaged(self, entry: Import) -> Place | None:
        """A type by its full name, or a static member of one, maybe an inherited one."""
        canonical = f"{entry.module}.{entry.member}" if entry.member else entry.module
        found = self._resolver.exact(canonical.rpartition(".")[2], canonical)
        if found is None and entry.member:
            outer = self._resolver.exact(entry.module.rpartition(".")[2], entry.module)
            return self._resolver.member(outer, entry.member) if outer is not None else None
        return found

    def _local_import(self, file_id: int, entry: Import) -> Place | None:
        """`import { a } …; export { a }`: what the name was imported as."""
        for other in self._graph.references(file_id).imports:
            if other.name == entry.member and other.scope == FILE_SCOPE:
                return self.target(file_id, other)
        return None


def _nowhere(_graph: Graph, _importer: str, _spec: str) -> int | None:
    return None


_FINDERS: dict[str, modules.ModuleFinder] = {
    PYTHON: modules.python_module,
    **dict.fromkeys(ES, modules.es_module),
    **dict.fromkeys(C, modules.included_file),
    "ruby": modules.es_module,
    "bash": modules.included_file,
}
