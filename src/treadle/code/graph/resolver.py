"""Resolves names by scopes, imports and types, never by the name alone.

The result is a definition of this repository, or the reason why there is none. The name may be from
another library, the type of its value may be unknown, or nothing may match.
"""

from collections.abc import Callable

from treadle.code.graph.crates import Crates
from treadle.code.graph.imports import Imports
from treadle.code.graph.language_rules import (
    BASES_INSIDE,
    ES,
    EXPLICIT,
    GO,
    PACKAGED,
    PYTHON,
    RUST,
    SELF_NAMES,
    SEPARATORS,
    C,
)
from treadle.code.graph.modules import folder_of, python_submodule
from treadle.code.graph.tables import Graph, Node, top_level, unique_definition
from treadle.code.graph.targets import CrateRoot, FindMember, Folder, Reason, Target
from treadle.code.model import FUNCTION_KINDS, TEXT_KINDS, TYPE_KINDS, Kind
from treadle.code.references import (
    BUILT_IN,
    CALLS,
    FILE_SCOPE,
    Import,
    Reference,
    ReferenceKind,
)

_DEPTH = 8
"""The maximum number of re-exports and base classes that are followed in a row."""

_OPEN = 24
"""The maximum number of nested lookups of members, which bounds the depth of the stack."""

_SUPER = frozenset({"super", "base", "parent"})

_RUST_PATHS = frozenset({"crate", "self", "super"})


class Resolver:
    """Resolves the names of all files of one index, within one transaction."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.crates = Crates(graph, self.member, self._passed_on)
        self.types = Types(graph, self.crates, self.member, self.target)
        self.imports = Imports(graph, self.crates, self.member)
        self._resolved: dict[tuple[int, int, str], Target | Reason] = {}
        self._members: dict[tuple[Target, str], Target | None] = {}
        """The members found so far during one outermost lookup.

        The value is None while a member is looked up. Each member is looked up once. Therefore
        cycles end, and a lookup does not take exponential time.
        """
        self._open = 0

    def _passed_on(self, file_id: int, scope: int, name: str, depth: int) -> Target | None:
        return self.imports.passed_on(file_id, scope, name, depth)

    def target(self, file_id: int, reference: Reference) -> Target | Reason:
        """Return the target of a reference in a file, or the reason why it has no target."""
        if not reference.path:
            return Reason.UNKNOWN_TYPE
        scope = self._scope(file_id, reference)
        key = (file_id, scope, reference.path)
        found = self._resolved.get(key)
        if found is None:
            found = self._path(file_id, scope, reference.path.split("."))
            if not self._open:  # inside a nested lookup, a cycle may have cut the search short
                self._resolved[key] = found
        if found is Reason.NOT_FOUND and reference.kind in BUILT_IN:
            return Reason.BUILT_IN
        if isinstance(found, Node) and reference.kind not in CALLS:
            return found if found.kind not in FUNCTION_KINDS else Reason.NOT_FOUND
        return found

    def _scope(self, file_id: int, reference: Reference) -> int:
        """Return the scope in which a reference is resolved.

        The name of a base type is resolved outside of the type that inherits from it.
        """
        scope = reference.scope
        if reference.kind is not ReferenceKind.BASE or scope < 0:
            return scope
        items = self.graph.items(file_id)
        outside = items[scope].kind in TYPE_KINDS and (
            self.graph.file(file_id)[1] not in BASES_INSIDE
        )
        if not outside:
            return scope
        parent = items[scope].parent_id
        return FILE_SCOPE if parent is None else parent - items[0].id

    def imported(self, file_id: int, entry: Import) -> Target | Reason:
        """Return the definition or module that an import names, or the reason why there is none."""
        found = self.imports.target(file_id, entry)
        if found is not None:
            return found
        first = entry.module.partition("::")[0]
        here = not first or first.startswith(".") or first in {"crate", "self", "super"}
        return Reason.NOT_FOUND if here else Reason.OUTSIDE

    def member(self, owner: Target, name: str, depth: int = 0) -> Target | None:
        """Return the member `name` of a module or type, or None. The member may be inherited."""
        key = (owner, name)
        if key in self._members:
            return self._members[key]
        if depth > _DEPTH or self._open >= _OPEN:
            return None
        self._members[key] = None
        self._open += 1
        try:
            self._members[key] = found = self._member(owner, name, depth)
        finally:
            self._open -= 1
            if not self._open:
                self._members.clear()
        return found

    def _member(self, owner: Target, name: str, depth: int) -> Target | None:
        if isinstance(owner, Folder):
            return self._in_folder(owner, name)
        if isinstance(owner, CrateRoot):
            return self.crates.in_crate(owner, name, depth)
        if owner.kind == Kind.MODULE:
            return self._in_module(owner, name, depth)
        return self.types.member(owner, name, depth) if owner.kind in TYPE_KINDS else None

    def _path(self, file_id: int, scope: int, parts: list[str]) -> Target | Reason:
        found = self._first(file_id, scope, parts[0])
        rest = parts[1:]
        if isinstance(found, Reason):
            return found
        for name in rest:
            if isinstance(found, Node) and found.kind not in _OWNERS:
                return Reason.UNKNOWN_TYPE
            below = self.member(found, name)
            if below is None:
                return Reason.NOT_FOUND
            found = below
        return found

    def _first(self, file_id: int, scope: int, name: str) -> Target | Reason:
        """Return the target of the first part of a path, or the reason why it has no target."""
        path, language = self.graph.file(file_id)
        if language == RUST and name in _RUST_PATHS and not (name == "self" and scope >= 0):
            return self.crates.keyword(file_id, scope, name)
        if name in SELF_NAMES.get(language, ()):
            return self._self_or_super(file_id, scope, name)
        found = self._in_scopes(file_id, scope, name, language)
        if found is None:
            if language == RUST:
                module = self.crates.around(file_id, scope)
                found = self.crates.in_module(module, name, 0) or self.crates.named(name)
            else:
                found = self._file_wide(file_id, path, language, name)
        return found if found is not None else Reason.NOT_FOUND

    def _self_or_super(self, file_id: int, scope: int, name: str) -> Target | Reason:
        owner = self.types.around(file_id, scope)
        if owner is None:
            in_rust = self.graph.file(file_id)[1] == RUST
            return self.crates.keyword(file_id, scope, name) if in_rust else Reason.UNKNOWN_TYPE
        if name not in _SUPER:
            return owner
        bases = self.types.bases(owner)
        return bases[0] if bases else Reason.NOT_FOUND

    def _in_scopes(
        self, file_id: int, scope: int, name: str, language: str
    ) -> Target | Reason | None:
        """Find a name among nested definitions, members used without a receiver, and imports."""
        items = self.graph.items(file_id)
        imports = self.graph.references(file_id).imports
        here = scope
        while True:
            inside = items[here] if here >= 0 else None
            if not (inside is not None and inside.kind in TYPE_KINDS and language in EXPLICIT):
                found = self.defined_in(items, inside, name, language)
                if found is not None:
                    return found
            bound = [entry for entry in imports if entry.scope == here and entry.name == name]
            if bound:
                targets = [self.imports.target(file_id, entry) for entry in bound]
                known = [target for target in targets if target is not None]
                return known[0] if known else self.imported(file_id, bound[0])
            for entry in imports:
                if entry.scope == here and entry.name == "*":
                    found = self.imports.through_star(file_id, entry, name)
                    if found is not None:
                        return found
            if here < 0:
                return None
            parent = items[here].parent_id
            if language == RUST and items[here].kind == Kind.MODULE:
                return None
            here = parent - items[0].id if parent is not None else FILE_SCOPE

    def defined_in(
        self, items: list[Node], inside: Node | None, name: str, language: str
    ) -> Target | None:
        if inside is None:
            return top_level(items, name)
        if inside.kind in TYPE_KINDS:
            return self.member(inside, name)
        nested = next(
            (node for node in items if node.name == name and node.parent_id == inside.id), None
        )
        if nested is None and inside.kind == Kind.METHOD and language not in EXPLICIT:
            owner = self.types.of_method(inside)
            return self.member(owner, name) if owner is not None else None
        return nested

    def _file_wide(self, file_id: int, path: str, language: str, name: str) -> Target | None:
        """Find a name that all code of a file can use: a name of its package or of its headers."""
        if language == GO:
            return self._in_folder(Folder(folder_of(path), self._package(file_id)), name)
        if language in PACKAGED:
            package = self._package(file_id)
            return unique_definition(self.graph, name, f"{package}.{name}" if package else name)
        if language in C:
            for entry in self.graph.references(file_id).imports:
                header = self.imports.target(file_id, entry)
                if isinstance(header, Node):
                    found = self.defined_in(self.graph.items(header.file_id), None, name, language)
                    if found is not None:
                        return found
        return None

    def _in_module(self, module: Node, name: str, depth: int) -> Target | None:
        path, language = self.graph.file(module.file_id)
        items = self.graph.items(module.file_id)
        whole_file = module.id == items[-1].id
        if language == RUST:
            return self.crates.in_module(module, name, depth)
        if not whole_file:
            return next(
                (node for node in items if node.name == name and node.parent_id == module.id), None
            )
        if language in ES and name == "default":
            passed_on = self.imports.passed_on(module.file_id, FILE_SCOPE, name, depth)
            return passed_on or self.defined_in(items, None, name, language)
        found = self.defined_in(items, None, name, language)
        if found is not None:
            return found
        passed_on = self.imports.passed_on(module.file_id, FILE_SCOPE, name, depth)
        if passed_on is None and language == PYTHON:
            below = python_submodule(self.graph, path, name)
            return self.imports.module(below)
        return passed_on

    def _in_folder(self, folder: Folder, name: str) -> Target | None:
        """Return a top-level definition of a Go package, or None."""
        for file_id in self.graph.files_below(folder.path):
            if self.graph.file(file_id)[1] != GO:
                continue
            for node in self.graph.items(file_id):
                if node.name != name or node.parent_id is not None or not _is_definition(node):
                    continue
                package, _, rest = node.canonical_path.partition(".")
                if rest == name and folder.package in {"", package}:
                    return node
        return None

    def _package(self, file_id: int) -> str:
        """Return the package of a file's items, or ""."""
        in_go = self.graph.file(file_id)[1] == GO
        for node in self.graph.items(file_id)[:-1]:
            if node.parent_id is None and _is_definition(node):
                path = node.canonical_path
                return path.partition(".")[0] if in_go else path.rpartition(".")[0]
        return ""


_OWNERS = TYPE_KINDS | {Kind.MODULE}


def _is_definition(node: Node) -> bool:
    return node.kind not in TEXT_KINDS


class Types:
    """Finds types, their members and their base types in all files of one index."""

    def __init__(
        self,
        graph: Graph,
        crates: Crates,
        find_member: FindMember,
        find_target: Callable[[int, Reference], Target | Reason],
    ) -> None:
        self._graph = graph
        self._crates = crates
        self._find_member = find_member
        self._find_target = find_target
        self._busy: set[int] = set()

    def around(self, file_id: int, scope: int) -> Node | None:
        """Return the innermost type that encloses a scope, or None."""
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
        """Return the type of a method that is defined outside of its type (Go, C++), or None."""
        for separator in ("::", "."):
            base, found, _ = method.canonical_path.rpartition(separator)
            if found and method.kind == Kind.METHOD:
                name = base.rpartition(separator)[2]
                return self._pick(self._graph.named(name, base), method.file_id, TYPE_KINDS)
        return None

    def _parts(self, item: Node) -> list[Node]:
        """Return a type with its other parts, such as impl blocks in Rust and extensions."""
        if self._graph.file(item.file_id)[1] == RUST:
            return self._crates.parts(item)
        return [
            node
            for node in self._graph.named(item.name, item.canonical_path)
            if node.kind in TYPE_KINDS and self._same_unit(node, item)
        ] or [item]

    def member(self, owner: Node, name: str, depth: int) -> Target | None:
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
        """Return the scope in which a canonical path is unique, such as a file or a crate."""
        path, language = self._graph.file(file_id)
        if language == RUST:
            return self._crates.unit(file_id)
        if language == GO:
            return folder_of(path)
        if language in PACKAGED or language in C:
            return ""
        return path

    def _same_unit(self, one: Node, other: Node) -> bool:
        same_file = one.file_id == other.file_id
        return same_file or self._unit(one.file_id) == self._unit(other.file_id)

    def _pick(self, found: list[Node], file_id: int, kinds: frozenset[Kind]) -> Node | None:
        """Return an item of the given kinds in the file `file_id`, or else in its unit, or None.

        A unit is a scope in which canonical paths are unique (see `_unit`).
        """
        fitting = [node for node in found if node.kind in kinds]
        here = [node for node in fitting if node.file_id == file_id]
        unit = self._unit(file_id)
        near = here or [node for node in fitting if self._unit(node.file_id) == unit]
        near.sort(key=lambda node: node.kind == Kind.IMPL)
        return near[0] if near else None

    def bases(self, item: Node) -> list[Node]:
        """Return the known types that a type inherits from or implements."""
        if item.id in self._busy:
            return []  # a cycle: the search for a base asks for the bases of the same type
        self._busy.add(item.id)
        try:
            return self._bases(item)
        finally:
            self._busy.discard(item.id)

    def _bases(self, item: Node) -> list[Node]:
        found: list[Node] = []
        for part in self._parts(item):
            position = part.id - self._graph.items(part.file_id)[0].id
            for use in self._graph.references(part.file_id).references:
                if use.kind is ReferenceKind.BASE and use.scope == position:
                    target = self._find_target(part.file_id, use)
                    if isinstance(target, Node) and target.id != item.id and target not in found:
                        found.append(target)
        return found
