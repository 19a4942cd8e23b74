"""Types and their members, parts and bases."""

from collections.abc import Callable

from treadle.code.graph import modules
from treadle.code.graph.crates import Crates
from treadle.code.graph.language_rules import GO, PACKAGED, RUST, SEPARATORS, C
from treadle.code.graph.tables import Graph, Node
from treadle.code.graph.targets import FindMember, Place, Reason
from treadle.code.model import TYPE_KINDS, Kind
from treadle.code.references import Reference, ReferenceKind


class Types:
    """Finds the types of all files of one index."""

    def __init__(
        self,
        graph: Graph,
        crates: Crates,
        find_member: FindMember,
        find_target: Callable[[int, Reference], Place | Reason],
    ) -> None:
        self._graph = graph
        self._crates = crates
        self._find_member = find_member
        self._find_target = find_target
        self._busy: set[int] = set()

    def around(self, file_id: int, scope: int) -> Node | None:
        """The type that encloses a scope."""
        items = self._graph.items(file_id)
        while scope >= 0:
            item = items[scope]
            if item.kind in TYPE_KINDS:
                return item
            if item.parent_id is None:
                return self.of_method(item)
            scope = item.parent_id - items[0].id
        return None

    def of_method(self, method: Node) -> Node | None:
        """The type of a method that is defined outside of it (Go, C++)."""
        for separator in ("::", "."):
            base, found, _ = method.canonical_path.rpartition(separator)
            if found and method.kind == Kind.METHOD:
                name = base.rpartition(separator)[2]
                return self._pick(self._graph.named(name, base), method.file_id, TYPE_KINDS)
        return None

    def _parts(self, item: Node) -> list[Node]:
        """A type with its other parts, such as impl blocks of Rust and extensions."""
        if self._graph.file(item.file_id)[1] == RUST:
            return self._crates.parts(item)
        return [
            node
            for node in self._graph.named(item.name, item.canonical_path)
            if node.kind in TYPE_KINDS and self._same_unit(node, item)
        ] or [item]

    def member(self, owner: Node, name: str, depth: int) -> Place | None:
        language = self._graph.file(owner.file_id)[1]
        found = [
            node
            for part in (self._parts(owner) if language == RUST else [owner])
            for separator in SEPARATORS.get(language, (".",))
            for node in self._graph.named(name, f"{part.canonical_path}{separator}{name}")
            if self._same_unit(node, part)
        ]
        own = [node for node in found if node.parent_id == owner.id]
        if own or found:
            return (own or found)[0]
        for base in self.bases(owner):
            inherited = self._find_member(base, name, depth + 1)
            if inherited is not None:
                return inherited
        return None

    def _unit(self, file_id: int) -> str:
        """The scope in which a canonical path is unique: a file, a folder, a crate, or all."""
        path, language = self._graph.file(file_id)
        if language == RUST:
            return self._crates.unit(file_id)
        if language == GO:
            return modules.folder_of(path)
        if language in PACKAGED or language in C:
            return ""
        return path

    def _same_unit(self, one: Node, other: Node) -> bool:
        same_file = one.file_id == other.file_id
        return same_file or self._unit(one.file_id) == self._unit(other.file_id)

    def _pick(self, found: list[Node], file_id: int, kinds: frozenset[Kind]) -> Node | None:
        """The matching item: in the same file first, or else in the same unit."""
        fitting = [node for node in found if node.kind in kinds]
        here = [node for node in fitting if node.file_id == file_id]
        unit = self._unit(file_id)
        near = here or [node for node in fitting if self._unit(node.file_id) == unit]
        near.sort(key=lambda node: node.kind == Kind.IMPL)
        return near[0] if near else None

    def bases(self, item: Node) -> list[Node]:
        """The known types that a type inherits from or implements."""
        if item.id in self._busy:
            return []  # a base whose name leads through the type itself
        self._busy.add(item.id)
        try:
            return self._bases(item)
        finally:
            self._busy.discard(item.id)

    def _bases(self, item: Node) -> list[Node]:
        found: list[Node] = []
        for part in self._parts(item):
            place = part.id - self._graph.items(part.file_id)[0].id
            for use in self._graph.references(part.file_id).references:
                if use.kind is ReferenceKind.BASE and use.scope == place:
                    target = self._find_target(part.file_id, use)
                    if isinstance(target, Node) and target.id != item.id and target not in found:
                        found.append(target)
        return found
