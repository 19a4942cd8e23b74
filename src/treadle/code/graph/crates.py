"""How Rust finds modules and what is in them: crates, `mod` files, inline modules and `use`."""

from typing import Protocol

from treadle.code.graph import modules
from treadle.code.graph.places import CrateRoot, Place, Reason
from treadle.code.graph.tables import Graph, Node
from treadle.code.model import Kind
from treadle.code.references import FILE_SCOPE, Import


class Resolving(Protocol):
    """What is needed of the resolver of all languages."""

    graph: Graph

    def member(self, owner: Place, name: str, depth: int = 0) -> Place | None: ...

    def passed_on(self, file_id: int, scope: int, name: str, depth: int) -> Place | None: ...


class Crates:
    """The module tree of the crates of a repository."""

    def __init__(self, resolver: Resolving) -> None:
        self._resolver = resolver
        self._graph = resolver.graph

    def inside(self, root: str, module: str, name: str, depth: int) -> Place | None:
        """`module::name` in a crate: a definition, a module, or what the module passes on."""
        found = [
            node
            for node in self._graph.named(name, f"{module}::{name}")
            if modules.crate_root(self._graph.file(node.file_id)[0]) == root
        ]
        found.sort(key=lambda node: node.kind == Kind.IMPL)
        if found:
            return found[0]
        whole = self.module(root, f"{module}::{name}")
        if whole is not None:
            return whole
        here = self.module(root, module)
        if here is None:
            return None
        items = self._graph.items(here.file_id)
        scope = FILE_SCOPE if here.id == items[-1].id else here.id - items[0].id
        return self._resolver.passed_on(here.file_id, scope, name, depth)

    def module(self, root: str, module: str) -> Node | None:
        """The module of a canonical path: a file (by where it is) or an inline module."""
        names = module.split("::")[1:]
        if root.endswith(".rs"):
            places = [] if names else [root]
        elif names:
            below = "/".join(names)
            places = [f"{root}/{below}.rs", f"{root}/{below}/mod.rs"]
        else:
            places = [f"{root}/lib.rs", f"{root}/main.rs", f"{root}/mod.rs"]
        for place in places:
            file_id = self._graph.file_id(place.lstrip("/"))
            if file_id is not None:
                return self._graph.items(file_id)[-1]
        inline = self._graph.named(names[-1], module) if names else []
        for node in inline:
            own = modules.crate_root(self._graph.file(node.file_id)[0])
            if node.kind == Kind.MODULE and own == root:
                return node
        return None

    def keyword(self, file_id: int, scope: int, name: str) -> Place | Reason:
        """`crate`, `self` and `super` as the first part of a path."""
        path = self._graph.file(file_id)[0]
        root = modules.crate_root(path)
        if name == "crate":
            return CrateRoot(root)
        module = self._around(file_id, scope)
        if name == "super":
            module = module.rpartition("::")[0]
        if module == "crate":
            return CrateRoot(root)
        found = self.module(root, module) if module else None
        return found if found is not None else Reason.NOT_FOUND

    def _around(self, file_id: int, scope: int) -> str:
        """The canonical path of the module around a place."""
        items = self._graph.items(file_id)
        while scope >= 0:
            if items[scope].kind == Kind.MODULE:
                return items[scope].canonical_path
            parent = items[scope].parent_id
            scope = parent - items[0].id if parent is not None else FILE_SCOPE
        return items[-1].canonical_path

    def use(self, file_id: int, entry: Import) -> Place | None:
        """A `use` of Rust: from `crate`, `self`, `super`, a name in scope or a crate."""
        parts = [part for part in f"{entry.module}::{entry.member}".split("::") if part]
        first = parts[0] if parts else "self"
        found: Place | Reason
        if first in {"crate", "self", "super"}:
            found = self.keyword(file_id, entry.scope, first)
        else:
            around = self._around(file_id, entry.scope)
            root = modules.crate_root(self._graph.file(file_id)[0])
            crate = modules.crate_by_name(self._graph, first)
            local = self.inside(root, around, first, 0)
            found = local or (CrateRoot(crate) if crate is not None else Reason.OUTSIDE)
        if isinstance(found, Reason):
            return None
        place: Place = found
        for position, part in enumerate(parts[1:], start=1):
            if part == "super" and isinstance(place, Node) and position < len(parts):
                upper = place.canonical_path.rpartition("::")[0]
                root = modules.crate_root(self._graph.file(place.file_id)[0])
                module = self.module(root, upper)
                if module is None:
                    return None
                place = module
                continue
            below = self._resolver.member(place, part)
            if below is None:
                return None
            place = below
        return place
