"""Resolves imports within the repository, and names that a module re-exports."""

from treadle.code.graph import modules
from treadle.code.graph.crates import Crates
from treadle.code.graph.language_rules import ES, GO, PACKAGED, PYTHON, RUST, C
from treadle.code.graph.tables import Graph, Node, top_level, unique_definition
from treadle.code.graph.targets import FindMember, Folder, Target
from treadle.code.model import Kind
from treadle.code.references import FILE_SCOPE, Import

_DEPTH = 32
"""The maximum number of re-exports that are followed in a row."""


class Imports:
    """Resolves the imports of all files of one index."""

    def __init__(self, graph: Graph, crates: Crates, find_member: FindMember) -> None:
        self._graph = graph
        self._crates = crates
        self._find_member = find_member
        self._busy: set[object] = set()

    def target(self, file_id: int, entry: Import) -> Target | None:
        """Return the target of an import in this repository, or None."""
        key = (file_id, entry)
        if key in self._busy or len(self._busy) > _DEPTH:
            return None
        self._busy.add(key)
        try:
            return self._followed(file_id, entry)
        finally:
            self._busy.discard(key)

    def through_star(self, file_id: int, entry: Import, name: str) -> Target | None:
        """Return the target of a name that an `import *` may bind, or None."""
        module = self.target(file_id, entry)
        if module is None:
            language = self._graph.file(file_id)[1]
            packaged = language in PACKAGED
            return (
                unique_definition(self._graph, name, f"{entry.module}.{name}") if packaged else None
            )
        return self._find_member(module, name, 0)

    def passed_on(self, file_id: int, scope: int, name: str, depth: int) -> Target | None:
        """Return the target of a name that a module re-exports, or None.

        For Rust the name may be any name that the module imports.
        """
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
            found = self._find_member(module, name, depth + 1) if module is not None else None
            if found is not None:
                return found
        return None

    def module(self, file_id: int | None) -> Node | None:
        last = self._graph.items(file_id)[-1] if file_id is not None else None
        return last if last is not None and last.kind == Kind.MODULE else None

    def _followed(self, file_id: int, entry: Import) -> Target | None:
        path, language = self._graph.file(file_id)
        if language == RUST:
            return self._crates.use(file_id, entry)
        if language == GO:
            folder = modules.go_package(self._graph, entry.module)
            return Folder(folder) if folder is not None else None
        if language in PACKAGED:
            return self._packaged(entry)
        if language in ES and not entry.module:
            own = top_level(self._graph.items(file_id), entry.member)
            return own or self._local_import(file_id, entry)
        module = self.module(_FINDERS.get(language, _nowhere)(self._graph, path, entry.module))
        return self._find_member(module, entry.member, 0) if module and entry.member else module

    def _packaged(self, entry: Import) -> Target | None:
        """Return the type or the static member of a type that an import names, or None.

        The member may be inherited.
        """
        canonical = f"{entry.module}.{entry.member}" if entry.member else entry.module
        found = unique_definition(self._graph, canonical.rpartition(".")[2], canonical)
        if found is None and entry.member:
            outer = unique_definition(self._graph, entry.module.rpartition(".")[2], entry.module)
            return self._find_member(outer, entry.member, 0) if outer is not None else None
        return found

    def _local_import(self, file_id: int, entry: Import) -> Target | None:
        """Return the target of `a` in `import { a } …; export { a }`, or None."""
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
