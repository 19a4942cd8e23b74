"""Resolves the module paths of Rust: crates, `mod` files, inline modules and `use`.

A module is found by its file, at the path where the compiler expects the file. Other items are
found by name inside their module. Visibility is ignored, since code that compiles does not name
private items.
"""

from collections.abc import Callable

from treadle.code.graph.modules import ancestors, folder_of, joined
from treadle.code.graph.tables import Graph, Node
from treadle.code.graph.targets import CrateRoot, FindMember, Reason, Target
from treadle.code.model import TYPE_KINDS, Kind
from treadle.code.references import FILE_SCOPE, Import

_ROOTS = ("lib.rs", "main.rs")
_OWN_CRATES = frozenset({"tests", "benches", "examples"})
_SUFFIX = ".rs"
PassedOn = Callable[[int, int, str, int], Target | None]
"""Finds the item that a module re-exports under a name.

The arguments are the file id of the module, its scope, the name, and the depth of the search.
"""


class Crates:
    """The crates of a repository, with the module tree of each crate."""

    def __init__(self, graph: Graph, find_member: FindMember, passed_on: PassedOn) -> None:
        self._graph = graph
        self._find_member = find_member
        self._passed_on = passed_on
        self._folders: set[str] = set()
        """Folders with a `Cargo.toml`."""
        self._named: dict[str, CrateRoot] = {}
        self._declared: dict[str, list[str]] = {}
        """The root files that each `Cargo.toml` names, by the folder of the `Cargo.toml`."""
        self._known: dict[str, CrateRoot] = {}
        self._definitions: dict[int, Node] = {}
        for folder, manifest in self._graph.manifests("Cargo.toml"):
            name, library, *programs = manifest.split("\n")
            self._folders.add(folder)
            for position in filter(None, (library, *programs)):
                root = joined(folder, position)
                self._declared.setdefault(folder_of(root), []).append(root)
            root = joined(folder, library or "src/lib.rs")
            self._named[name.replace("-", "_")] = CrateRoot(folder_of(root), (root,))

    def named(self, name: str) -> CrateRoot | None:
        """Return a crate of this repository by the name that other crates use, or None."""
        return self._named.get(name)

    def of(self, file_id: int) -> CrateRoot:
        """Return the crate of a file."""
        path = self._graph.file(file_id)[0]
        if path not in self._known:
            self._known[path] = self._crate(path)
        return self._known[path]

    def unit(self, file_id: int) -> str:
        """Return a text that identifies the crate of a file.

        A library and a program in one folder have the same text.
        """
        root = self.of(file_id)
        return root.files[0] if len(root.files) == 1 and root.alone else root.folder

    def _crate(self, path: str) -> CrateRoot:
        """Return the crate of the file at `path`.

        A root file belongs to its own crate. Each file in `src/bin`, `tests`, `benches` and
        `examples` is a crate of its own. Any other file belongs to the crate of a folder above it.
        This is the nearest folder that is named `src` or contains a root file.
        """
        folder, _, file = path.rpartition("/")
        if path in self._declared.get(folder, ()) or file in _ROOTS:
            return CrateRoot(folder, (path,))
        if self._own_crates(folder):
            return CrateRoot(folder, (path,), alone=True)
        for above in ancestors(folder):
            positions = [joined(above, name) for name in _ROOTS] + self._declared.get(above, [])
            files = [
                position for position in positions if self._graph.file_id(position) is not None
            ]
            if files or above.rpartition("/")[2] == "src" or self._own_crates(above):
                return CrateRoot(above, tuple(dict.fromkeys(files)))
        return CrateRoot(folder, ())

    def _own_crates(self, folder: str) -> bool:
        """Whether the files directly in a folder are crates of their own."""
        above, _, name = folder.rpartition("/")
        if name == "bin":
            return above.rpartition("/")[2] == "src"
        outside = above in self._folders or "src" not in above.split("/")
        return name in _OWN_CRATES and outside

    def in_crate(self, root: CrateRoot, name: str, depth: int) -> Target | None:
        """Return the target of `crate::name`, or None."""
        for path in root.files:
            module = self._at(path)
            found = self.in_module(module, name, depth) if module is not None else None
            if found is not None:
                return found
        return self._below(root.folder, name)

    def in_module(self, module: Node, name: str, depth: int) -> Target | None:
        """Resolve `module::name` to a definition, a module, or a re-exported name."""
        if name == "super":
            return self._above(module)
        items = self._graph.items(module.file_id)
        whole_file = module.id == items[-1].id
        parent = None if whole_file else module.id
        found = [node for node in items[:-1] if node.name == name and node.parent_id == parent]
        blocks = [node for node in found if node.kind == Kind.IMPL]
        if len(found) > len(blocks):
            return next(node for node in found if node.kind != Kind.IMPL)
        below = self._below(self._folder(module), name)
        if below is not None:
            return below
        scope = FILE_SCOPE if whole_file else module.id - items[0].id
        passed_on = self._passed_on(module.file_id, scope, name, depth)
        return passed_on or next(iter(blocks), None)

    def _at(self, path: str) -> Node | None:
        file_id = self._graph.file_id(path)
        return self._graph.items(file_id)[-1] if file_id is not None else None

    def _below(self, folder: str, name: str) -> Node | None:
        return self._at(joined(folder, name + _SUFFIX)) or self._at(
            joined(folder, f"{name}/mod.rs")
        )

    def _folder(self, module: Node) -> str:
        """Return the folder with the files of a module's submodules."""
        path = self._graph.file(module.file_id)[0]
        items = self._graph.items(module.file_id)
        inline: list[str] = []
        here = module
        while here.id != items[-1].id:
            inline.insert(0, here.name)
            here = items[here.parent_id - items[0].id] if here.parent_id is not None else items[-1]
        is_root = path in self.of(module.file_id).files
        top = is_root or path.rpartition("/")[2] in {*_ROOTS, "mod.rs"}
        base = folder_of(path) if top else path.removesuffix(_SUFFIX)
        return joined(base, "/".join(inline))

    def _above(self, module: Node) -> Target | None:
        """Return the target of `module::super`, or None."""
        items = self._graph.items(module.file_id)
        if module.id != items[-1].id:
            parent = module.parent_id
            return self.around(
                module.file_id, FILE_SCOPE if parent is None else parent - items[0].id
            )
        path = self._graph.file(module.file_id)[0]
        crate = self.of(module.file_id)
        if path in crate.files:
            return None
        above, _, file = path.rpartition("/")
        above = folder_of(above) if file == "mod.rs" else above
        return self._module_of(above, crate)

    def _module_of(self, folder: str, crate: CrateRoot) -> Target | None:
        """Return the module of a folder. The module is a crate, a file or an inline module."""
        inline: list[str] = []
        found: Target | None = None
        for above in ancestors(folder):
            found = crate if above == crate.folder else self._file_of(above, crate)
            if found is not None or above == crate.folder:
                break
            inline.append(above.rpartition("/")[2])
        else:
            return None
        for name in reversed(inline):
            found = self._find_member(found, name, 0) if found is not None else None
        return found

    def _file_of(self, folder: str, crate: CrateRoot) -> Target | None:
        if not folder.startswith(f"{crate.folder}/" if crate.folder else ""):
            return None
        return self._at(joined(folder, "mod.rs")) or self._at(folder + _SUFFIX)

    def around(self, file_id: int, scope: int) -> Node:
        """Return the innermost module that encloses a scope."""
        items = self._graph.items(file_id)
        while scope >= 0 and items[scope].kind != Kind.MODULE:
            parent = items[scope].parent_id
            scope = parent - items[0].id if parent is not None else FILE_SCOPE
        return items[scope]

    def keyword(self, file_id: int, scope: int, name: str) -> Target | Reason:
        """Resolve `crate`, `self` or `super` as the first part of a path."""
        if name == "crate":
            return self.of(file_id)
        module = self.around(file_id, scope)
        found = self._above(module) if name == "super" else module
        return found if found is not None else Reason.NOT_FOUND

    def use(self, file_id: int, entry: Import) -> Target | None:
        """Return the target of a `use`, or None.

        The path starts at `crate`, `self`, `super`, a name in the module, or a crate.
        """
        parts = [part for part in f"{entry.module}::{entry.member}".split("::") if part]
        first = parts[0] if parts else "self"
        position: Target | Reason | None
        if first in {"crate", "self", "super"}:
            position = self.keyword(file_id, entry.scope, first)
        else:
            module = self.around(file_id, entry.scope)
            position = self._find_member(module, first, 0) or self.named(first)
        for part in parts[1:]:
            if position is None or isinstance(position, Reason):
                return None
            position = self._find_member(position, part, 0)
        return None if isinstance(position, Reason) else position

    def parts(self, item: Node) -> list[Node]:
        """Return the type of `item`, and all impl blocks of this type in the crate."""
        definition = self._definition(item)
        unit = self.unit(item.file_id)
        return [definition] + [
            node
            for node in self._graph.impls(item.name)
            if node.id != definition.id
            and self.unit(node.file_id) == unit
            and self._definition(node).id == definition.id
        ]

    def _definition(self, item: Node) -> Node:
        """Return the type of an impl block, or the block itself if its type cannot be found."""
        if item.kind != Kind.IMPL:
            return item
        known = self._definitions.get(item.id)
        if known is not None:
            return known
        parent = item.parent_id
        first = self._graph.items(item.file_id)[0].id
        scope = FILE_SCOPE if parent is None else parent - first
        found = self.in_module(self.around(item.file_id, scope), item.name, 0)
        if isinstance(found, Node) and found.kind in TYPE_KINDS:
            self._definitions[item.id] = found
            return found
        return item
