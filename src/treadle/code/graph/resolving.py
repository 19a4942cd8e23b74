"""What a name in a file means: by scope and imports, never by the name alone.

Each answer is a definition of this repository, or a reason why there is none: a name that comes
from outside, a value whose type the file does not say, or nothing that it could be.
"""

from treadle.code.graph import modules
from treadle.code.graph.crates import Crates
from treadle.code.graph.places import CrateRoot, Folder, Place, Reason
from treadle.code.graph.tables import Graph, Node
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
"""Re-exports and base classes followed in a row."""

_PYTHON = "python"
_ES = frozenset({"typescript", "tsx", "javascript"})
_RUST = "rust"
_GO = "go"
_PACKAGED = frozenset({"java", "kotlin"})
_C = frozenset({"c", "cpp"})
_SELF = frozenset({"self", "this", "Self", "cls", "@", "$this", "static"})
_SUPER = frozenset({"super", "base", "parent"})
_RUST_PATHS = frozenset({"crate", "self", "super"})


class Resolver:
    """Answers for all files of one index, within one transaction."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._crates = Crates(self)
        self._resolved: dict[tuple[int, int, str], Place | Reason] = {}
        self._busy: set[object] = set()

    def target(self, file_id: int, reference: Reference) -> Place | Reason:
        """What a reference of a file means."""
        if not reference.path:
            return Reason.UNKNOWN_TYPE
        key = (file_id, reference.scope, reference.path)
        if key not in self._resolved:
            self._resolved[key] = self._path(file_id, reference.scope, reference.path.split("."))
        found = self._resolved[key]
        if found is Reason.NOT_FOUND and reference.kind in BUILT_IN:
            return Reason.BUILT_IN
        if isinstance(found, Node) and reference.kind not in CALLS:
            return found if found.kind not in FUNCTION_KINDS else Reason.NOT_FOUND
        return found

    def imported(self, file_id: int, entry: Import) -> Place | Reason:
        """What an import binds: a definition, or the module itself."""
        found = self._import(file_id, entry)
        if found is not None:
            return found
        first = entry.module.partition("::")[0]
        here = not first or first.startswith(".") or first in {"crate", "self", "super"}
        return Reason.NOT_FOUND if here else Reason.OUTSIDE

    def bases(self, item: Node) -> list[Node]:
        """The types that a type inherits from or implements, as far as they are known."""
        found: list[Node] = []
        for part in self._parts_of_type(item):
            place = part.id - self.graph.items(part.file_id)[0].id
            for use in self.graph.references(part.file_id).references:
                if use.kind is ReferenceKind.BASE and use.scope == place:
                    target = self.target(part.file_id, use)
                    if isinstance(target, Node) and target.id != item.id and target not in found:
                        found.append(target)
        return found

    def member(self, owner: Place, name: str, depth: int = 0) -> Place | None:
        """What `name` is in a module or type, bases included."""
        key = (owner, name)
        if depth > _DEPTH or key in self._busy:
            return None
        self._busy.add(key)
        try:
            if isinstance(owner, Folder):
                return self._in_folder(owner, name)
            if isinstance(owner, CrateRoot):
                return self._crates.in_crate(owner, name, depth)
            if owner.kind == Kind.MODULE:
                return self._in_module(owner, name, depth)
            if owner.kind in TYPE_KINDS:
                return self._in_type(owner, name, depth)
            return None
        finally:
            self._busy.discard(key)

    # Names in scope

    def _path(self, file_id: int, scope: int, parts: list[str]) -> Place | Reason:
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

    def _first(self, file_id: int, scope: int, name: str) -> Place | Reason:
        """The meaning of the first part of a path where it stands."""
        path, language = self.graph.file(file_id)
        if language == _RUST and name in _RUST_PATHS and not (name == "self" and scope >= 0):
            return self._crates.keyword(file_id, scope, name)
        if name in _SELF or name in _SUPER:
            return self._self_or_super(file_id, scope, name)
        found = self._in_scopes(file_id, scope, name, language)
        if found is None:
            if language == _RUST:
                module = self._crates.around(file_id, scope)
                found = self._crates.in_module(module, name, 0) or self._crates.named(name)
            else:
                found = self._file_wide(file_id, path, language, name)
        return found if found is not None else Reason.NOT_FOUND

    def _self_or_super(self, file_id: int, scope: int, name: str) -> Place | Reason:
        owner = self._owner(file_id, scope)
        if owner is None:
            in_rust = self.graph.file(file_id)[1] == _RUST
            return self._crates.keyword(file_id, scope, name) if in_rust else Reason.UNKNOWN_TYPE
        if name in _SELF:
            return owner
        bases = self.bases(owner)
        return bases[0] if bases else Reason.NOT_FOUND

    def _in_scopes(
        self, file_id: int, scope: int, name: str, language: str
    ) -> Place | Reason | None:
        """Nested definitions, members that are in reach without a receiver, imports."""
        items = self.graph.items(file_id)
        imports = self.graph.references(file_id).imports
        here = scope
        while True:
            inside = items[here] if here >= 0 else None
            if not (inside is not None and inside.kind in TYPE_KINDS and language in _EXPLICIT):
                found = self._defined_in(items, inside, name, language)
                if found is not None:
                    return found
            bound = [entry for entry in imports if entry.scope == here and entry.name == name]
            if bound:
                targets = [self._import(file_id, entry) for entry in bound]
                known = [target for target in targets if target is not None]
                return known[0] if known else self.imported(file_id, bound[0])
            for entry in imports:
                if entry.scope == here and entry.name == "*":
                    found = self._from_star(file_id, entry, name)
                    if found is not None:
                        return found
            if here < 0:
                return None
            parent = items[here].parent_id
            if language == _RUST and items[here].kind == Kind.MODULE:
                return None
            here = parent - items[0].id if parent is not None else FILE_SCOPE

    def _defined_in(
        self, items: list[Node], inside: Node | None, name: str, language: str
    ) -> Place | None:
        if inside is None:
            return next(
                (
                    node
                    for node in items
                    if node.name == name
                    and node.parent_id is None
                    and node.kind not in _APART
                    and _is_definition(node)
                ),
                None,
            )
        if inside.kind in TYPE_KINDS:
            return self.member(inside, name)
        nested = next(
            (node for node in items if node.name == name and node.parent_id == inside.id), None
        )
        if nested is None and inside.kind == Kind.METHOD and language not in _EXPLICIT:
            owner = self._outside_owner(inside)
            return self.member(owner, name) if owner is not None else None
        return nested

    def _file_wide(self, file_id: int, path: str, language: str, name: str) -> Place | None:
        """What is in reach of a whole file without an import."""
        if language == _GO:
            return self._in_folder(Folder(modules.folder_of(path), self._package(file_id)), name)
        if language in _PACKAGED:
            package = self._package(file_id)
            return self._exact(name, f"{package}.{name}" if package else name)
        if language in _C:
            for entry in self.graph.references(file_id).imports:
                header = self._import(file_id, entry)
                if isinstance(header, Node):
                    found = self._defined_in(self.graph.items(header.file_id), None, name, language)
                    if found is not None:
                        return found
        return None

    def _from_star(self, file_id: int, entry: Import, name: str) -> Place | None:
        module = self._import(file_id, entry)
        if module is None:
            language = self.graph.file(file_id)[1]
            packaged = language in _PACKAGED
            return self._exact(name, f"{entry.module}.{name}") if packaged else None
        return self.member(module, name)

    # Owners

    def _owner(self, file_id: int, scope: int) -> Node | None:
        """The type around a place."""
        items = self.graph.items(file_id)
        while scope >= 0:
            item = items[scope]
            if item.kind in TYPE_KINDS:
                return item
            if item.parent_id is None:
                return self._outside_owner(item)
            scope = item.parent_id - items[0].id
        return None

    def _outside_owner(self, method: Node) -> Node | None:
        """The type of a method that stands outside of it (Go, C++)."""
        for separator in ("::", "."):
            base, found, _ = method.canonical_path.rpartition(separator)
            if found and method.kind == Kind.METHOD:
                name = base.rpartition(separator)[2]
                return self._pick(self.graph.named(name, base), method.file_id, TYPE_KINDS)
        return None

    def _parts_of_type(self, item: Node) -> list[Node]:
        """A type with its other parts: the impl blocks of Rust, extensions."""
        if self.graph.file(item.file_id)[1] == _RUST:
            return self._crates.parts(item)
        return [
            node
            for node in self.graph.named(item.name, item.canonical_path)
            if node.kind in TYPE_KINDS and self._same_unit(node, item)
        ] or [item]

    def _in_type(self, owner: Node, name: str, depth: int) -> Place | None:
        language = self.graph.file(owner.file_id)[1]
        found = [
            node
            for part in (self._parts_of_type(owner) if language == _RUST else [owner])
            for separator in SEPARATORS.get(language, (".",))
            for node in self.graph.named(name, f"{part.canonical_path}{separator}{name}")
            if self._same_unit(node, part)
        ]
        own = [node for node in found if node.parent_id == owner.id]
        if own or found:
            return (own or found)[0]
        for base in self.bases(owner):
            inherited = self.member(base, name, depth + 1)
            if inherited is not None:
                return inherited
        return None

    def _unit(self, file_id: int) -> str:
        """Within what a canonical path means one thing: a file, folder, crate or the repository."""
        path, language = self.graph.file(file_id)
        if language == _RUST:
            return self._crates.unit(file_id)
        if language == _GO:
            return modules.folder_of(path)
        if language in _PACKAGED or language in _C:
            return ""
        return path

    def _same_unit(self, one: Node, other: Node) -> bool:
        same_file = one.file_id == other.file_id
        return same_file or self._unit(one.file_id) == self._unit(other.file_id)

    def _pick(self, found: list[Node], file_id: int, kinds: frozenset[Kind]) -> Node | None:
        """The one that is meant: of the same file first, else of the same unit."""
        fitting = [node for node in found if node.kind in kinds]
        here = [node for node in fitting if node.file_id == file_id]
        unit = self._unit(file_id)
        near = here or [node for node in fitting if self._unit(node.file_id) == unit]
        near.sort(key=lambda node: node.kind == Kind.IMPL)
        return near[0] if near else None

    def _exact(self, name: str, canonical_path: str) -> Node | None:
        """The definition of a canonical path that is unique in the whole repository."""
        found = [node for node in self.graph.named(name, canonical_path) if _is_definition(node)]
        return found[0] if len({node.file_id for node in found}) == 1 else None

    # Modules

    def _in_module(self, module: Node, name: str, depth: int) -> Place | None:
        path, language = self.graph.file(module.file_id)
        items = self.graph.items(module.file_id)
        whole_file = module.id == items[-1].id
        if language == _RUST:
            return self._crates.in_module(module, name, depth)
        if not whole_file:
            return next(
                (node for node in items if node.name == name and node.parent_id == module.id), None
            )
        if language in _ES and name == "default":
            return self.passed_on(module.file_id, FILE_SCOPE, name, depth)
        found = self._defined_in(items, None, name, language)
        if found is not None:
            return found
        passed_on = self.passed_on(module.file_id, FILE_SCOPE, name, depth)
        if passed_on is None and language == _PYTHON:
            below = modules.python_submodule(self.graph, path, name)
            return self._module(below)
        return passed_on

    def passed_on(self, file_id: int, scope: int, name: str, depth: int) -> Place | None:
        """What a module re-exports under a name; in Rust all that it imports."""
        stars: list[Import] = []
        in_rust = self.graph.file(file_id)[1] == _RUST
        for entry in self.graph.references(file_id).imports:
            if entry.scope != scope:
                continue
            exported = entry.name if in_rust else entry.exported
            if exported == name:
                return self._import(file_id, entry)
            if exported == "*":
                stars.append(entry)
        for entry in stars:
            module = self._import(file_id, entry)
            found = self.member(module, name, depth + 1) if module is not None else None
            if found is not None:
                return found
        return None

    def _in_folder(self, folder: Folder, name: str) -> Place | None:
        """A top-level definition of a Go package."""
        for file_id in self.graph.files_below(folder.path):
            if self.graph.file(file_id)[1] != _GO:
                continue
            for node in self.graph.items(file_id):
                if node.name != name or node.parent_id is not None or not _is_definition(node):
                    continue
                package, _, rest = node.canonical_path.partition(".")
                if rest == name and folder.package in {"", package}:
                    return node
        return None

    def _package(self, file_id: int) -> str:
        """The package that a file's own items are in."""
        in_go = self.graph.file(file_id)[1] == _GO
        for node in self.graph.items(file_id)[:-1]:
            if node.parent_id is None and _is_definition(node):
                path = node.canonical_path
                return path.partition(".")[0] if in_go else path.rpartition(".")[0]
        return ""

    def _module(self, file_id: int | None) -> Node | None:
        last = self.graph.items(file_id)[-1] if file_id is not None else None
        return last if last is not None and last.kind == Kind.MODULE else None

    def _import(self, file_id: int, entry: Import) -> Place | None:
        """What an import leads to in this repository."""
        key = (file_id, entry)
        if key in self._busy or len(self._busy) > 4 * _DEPTH:
            return None
        self._busy.add(key)
        try:
            return self._followed(file_id, entry)
        finally:
            self._busy.discard(key)

    def _followed(self, file_id: int, entry: Import) -> Place | None:
        path, language = self.graph.file(file_id)
        if language == _RUST:
            return self._crates.use(file_id, entry)
        if language == _GO:
            folder = modules.go_package(self.graph, entry.module)
            return Folder(folder) if folder is not None else None
        if language in _PACKAGED:
            return self._packaged(entry)
        if language in _ES and not entry.module:
            own = self._defined_in(self.graph.items(file_id), None, entry.member, language)
            return own or self._local_import(file_id, entry)
        module = self._module(_FINDERS.get(language, _nowhere)(self.graph, path, entry.module))
        return self.member(module, entry.member) if module and entry.member else module

    def _packaged(self, entry: Import) -> Place | None:
        """A type by its full name, or a static member of one, maybe an inherited one."""
        canonical = f"{entry.module}.{entry.member}" if entry.member else entry.module
        found = self._exact(canonical.rpartition(".")[2], canonical)
        if found is None and entry.member:
            outer = self._exact(entry.module.rpartition(".")[2], entry.module)
            return self.member(outer, entry.member) if outer is not None else None
        return found

    def _local_import(self, file_id: int, entry: Import) -> Place | None:
        """`import { a } …; export { a }`: what the name was imported as."""
        for other in self.graph.references(file_id).imports:
            if other.name == entry.member and other.scope == FILE_SCOPE:
                return self._import(file_id, other)
        return None


def _nowhere(_graph: Graph, _importer: str, _spec: str) -> int | None:
    return None


_FINDERS: dict[str, modules.ModuleFinder] = {
    _PYTHON: modules.python_module,
    **dict.fromkeys(_ES, modules.es_module),
    **dict.fromkeys(_C, modules.included_file),
    "ruby": modules.es_module,
    "bash": modules.included_file,
}
SEPARATORS = {
    **dict.fromkeys((_RUST, *_C), ("::",)),
    "bash": ("/",),
    "php": ("::", "\\"),
    "ruby": ("#", "::"),
}
"""Of a type and its member, and of other parts of a path, where they are not dots; repeated from
the languages, which take longer to load than a search (a test holds both equal)."""
_EXPLICIT = frozenset({_PYTHON, *_ES, _RUST, _GO, "php"})
"""Languages whose members need a receiver."""
_APART = frozenset({Kind.METHOD, Kind.IMPL})
"""Parts of a type where they stand outside of it; they define no name of their own."""
_OWNERS = TYPE_KINDS | {Kind.MODULE}
_NO_DEFINITIONS = TEXT_KINDS


def _is_definition(node: Node) -> bool:
    return node.kind not in _NO_DEFINITIONS
