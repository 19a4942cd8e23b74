"""Edges from and to items. An edge is a relation, such as a call.

Stored references are resolved at the time of a query.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from treadle.code.graph.reference_blobs import last_part
from treadle.code.graph.resolver import Resolver
from treadle.code.graph.tables import Graph, Node
from treadle.code.graph.targets import Folder, Reason, Target
from treadle.code.model import (
    FUNCTION_KINDS,
    TYPE_KINDS,
    Direction,
    Edge,
    EdgeKind,
    EdgeList,
    FoundItem,
    Kind,
)
from treadle.code.references import CALLS, FILE_SCOPE, Import, Reference, ReferenceKind
from treadle.code.retrieval.hits import is_test


class Link(NamedTuple):
    """One edge after resolution. If `target` is None, `reason` states why the edge has no target.

    `text` is the name as written at `start` to `end` in the file of `source`. `text` is empty for
    edges without a position in the text (contains, overrides).
    """

    kind: EdgeKind
    source: Node
    target: Node | None
    text: str = ""
    start: int = 0
    end: int = 0
    line: int = 0
    reason: Reason | None = None


_KINDS = {
    ReferenceKind.CALL: EdgeKind.CALLS,
    ReferenceKind.BUILT_IN_CALL: EdgeKind.CALLS,
    ReferenceKind.BUILT_IN_TYPE: EdgeKind.USES_TYPE,
    ReferenceKind.TYPE: EdgeKind.USES_TYPE,
    ReferenceKind.BASE: EdgeKind.INHERITS,
}

_USES = frozenset({EdgeKind.CALLS, EdgeKind.USES_TYPE, EdgeKind.INHERITS, EdgeKind.TESTS})

_MAX_FILES = 400
"""The maximum number of files that are searched for uses of one name."""

_INDEX_NAMES = frozenset({"index", "__init__", "mod", "lib", "main"})


class Edges:
    """The edges of items of one index, within one transaction."""

    def __init__(self, graph: Graph, *, max_files: int = _MAX_FILES) -> None:
        self.graph = graph
        self.resolver = Resolver(graph)
        self.cut = False
        """Whether more files mention a name than the search covered."""
        self._max_files = max_files

    def outgoing(self, item: Node, kinds: frozenset[EdgeKind]) -> Iterator[Link]:
        """Yield the edges from an item. Uses inside a nested item are edges of the nested item."""
        items = self.graph.items(item.file_id)
        whole_file = item.id == items[-1].id and item.kind == Kind.MODULE
        if EdgeKind.CONTAINS in kinds:
            for node in items[:-1]:
                if node.parent_id == (None if whole_file else item.id):
                    yield Link(EdgeKind.CONTAINS, item, node)
        found = self.graph.references(item.file_id)
        here = FILE_SCOPE if whole_file else item.id - items[0].id
        for entry in found.imports if EdgeKind.IMPORTS in kinds else ():
            if entry.scope == here:
                yield from self._import_links(item, entry)
        for use in found.uses_of_scope(here):
            if not kinds.isdisjoint(self._labels(item, use)):
                yield from self._link(item, use, kinds)
        if EdgeKind.OVERRIDES in kinds:
            for replaced in self._overridden(item):
                yield Link(EdgeKind.OVERRIDES, item, replaced)

    def _import_links(self, source: Node, entry: Import) -> Iterator[Link]:
        text = ".".join(part for part in (entry.module, entry.member) if part)
        position = self.resolver.imported(source.file_id, entry)
        reason = position if isinstance(position, Reason) else None
        for target in self._nodes(position):
            yield Link(
                EdgeKind.IMPORTS, source, target, text, entry.start, entry.end, entry.line, reason
            )

    def incoming(self, item: Node, kinds: frozenset[EdgeKind]) -> Iterator[Link]:
        """Yield the edges to an item.

        An unresolved use of the item's name may refer to the item. Such a use becomes an edge
        without a target.
        """
        if EdgeKind.CONTAINS in kinds:
            items = self.graph.items(item.file_id)
            if item.parent_id is not None:
                yield Link(EdgeKind.CONTAINS, items[item.parent_id - items[0].id], item)
            elif item.id != items[-1].id and items[-1].kind == Kind.MODULE:
                yield Link(EdgeKind.CONTAINS, items[-1], item)
        if not _USES.isdisjoint(kinds) or EdgeKind.IMPORTS in kinds:
            names = self._names(item)
            for file_id in self._mentioning(names):
                yield from self._uses_in(file_id, item, names, kinds)
        if EdgeKind.OVERRIDES in kinds:
            for replacing in self._overriding(item):
                yield Link(EdgeKind.OVERRIDES, replacing, item)

    def _labels(self, source: Node, use: Reference) -> set[EdgeKind]:
        path = self.graph.file(source.file_id)[0]
        kind = _KINDS[use.kind]
        return {kind, EdgeKind.TESTS} if is_test(path, source.canonical_path) else {kind}

    def _link(self, source: Node, use: Reference, kinds: frozenset[EdgeKind]) -> Iterator[Link]:
        position = self.resolver.target(source.file_id, use)
        kind = _KINDS[use.kind]
        reason = position if isinstance(position, Reason) else None
        for node in self._nodes(position):
            if node is not None and node.id == source.id and use.kind not in CALLS:
                continue
            if kind in kinds:
                yield Link(kind, source, node, use.text, use.start, use.end, use.line, reason)
            elif node is None:  # the caller requested only test edges
                tests = EdgeKind.TESTS
                yield Link(tests, source, None, use.text, use.start, use.end, use.line, reason)
            if EdgeKind.TESTS in kinds and node is not None and self._tests(source, node):
                yield Link(EdgeKind.TESTS, source, node, use.text, use.start, use.end, use.line)

    def _tests(self, source: Node, target: Node) -> bool:
        source_path, target_path = (self.graph.file(node.file_id)[0] for node in (source, target))
        return is_test(source_path, source.canonical_path) and not is_test(
            target_path, target.canonical_path
        )

    def _nodes(self, position: Target | Reason) -> list[Node | None]:
        """Return the items of a target.

        A package is represented by its first file. The result is empty for a crate and for a
        built-in name of the language. The result is `[None]` if the target is unknown.
        """
        if position is Reason.BUILT_IN:
            return []
        if isinstance(position, Node):
            return [position]
        if isinstance(position, Folder):
            files = self.graph.files_below(position.path)
            return [self.graph.items(file_id)[-1] for file_id in files[:1]]
        return [None] if isinstance(position, Reason) else []

    def _names(self, item: Node) -> set[str]:
        """Return the names that other files may use for an item.

        These are its own name and the names of its re-exports. The main module of a folder also has
        the name of the folder, and a constructor has the name of its type.
        """
        names = {item.name}
        if item.kind == Kind.MODULE and item.name in _INDEX_NAMES:
            folder = self.graph.file(item.file_id)[0].rpartition("/")[0]
            names.add(folder.rpartition("/")[2])
        if item.kind == Kind.METHOD and item.name in {"__init__", "constructor", "new"}:
            owner = self.graph.item(item.parent_id) if item.parent_id else None
            names |= {owner.name} if owner is not None else set()
        for file_id in self._mentioning(names) if item.kind != Kind.METHOD else ():
            for entry in self.graph.references(file_id).imports:
                if entry.member == item.name and entry.exported not in {"", "*", item.name}:
                    found = self._nodes(self.resolver.imported(file_id, entry))
                    names |= {entry.exported} if self._is(item, found) else set()
        return names

    def _mentioning(self, names: set[str]) -> list[int]:
        """Return files that mention one of the names."""
        found: dict[int, None] = {}
        for name in sorted(names):
            files = self.graph.mentioning(name, self._max_files + 1)
            self.cut = self.cut or len(files) > self._max_files
            found |= dict.fromkeys(files[: self._max_files])
        return sorted(found)

    def _is(self, item: Node, found: Sequence[Node | None]) -> bool:
        """Whether `found` has the item, or an item of its file with the same canonical path."""
        return any(
            node is not None
            and node.file_id == item.file_id
            and node.canonical_path == item.canonical_path
            for node in found
        )

    def _uses_in(
        self, file_id: int, item: Node, names: set[str], kinds: frozenset[EdgeKind]
    ) -> Iterator[Link]:
        items = self.graph.items(file_id)
        found = self.graph.references(file_id)
        names = set(names)
        for entry in found.imports:
            renamed = entry.member and entry.member != entry.name
            if not (renamed and entry.member in names) and EdgeKind.IMPORTS not in kinds:
                continue
            if not self._is(item, self._nodes(self.resolver.imported(file_id, entry))):
                continue
            names.add(entry.name)
            if EdgeKind.IMPORTS in kinds:
                links = self._import_links(items[entry.scope], entry)
                yield from (link for link in links if self._is(item, [link.target]))
        possible = Possible(self.graph, item, self._overridden(item))
        for use in found.uses(names):
            source = items[use.scope]
            labels = kinds & self._labels(source, use)
            for link in self._link(source, use, kinds) if labels else ():
                if self._is(item, [link.target]):
                    yield link
                    continue
                reason = possible.reason(file_id, use, link.target or link.reason)
                if reason is not None and link.kind in labels:
                    yield link._replace(target=None, reason=reason)

    def imports_from(self, file_id: int, entry: Import, file: str) -> bool:
        """Whether an import names a member of the module `file` that the module does not have."""
        if isinstance(self.resolver.imported(file_id, entry), Node):
            return False
        module = self.resolver.imported(file_id, entry._replace(member=""))
        return isinstance(module, Node) and self.graph.file(module.file_id)[0] == file

    def _overridden(self, item: Node) -> list[Node]:
        """Return the methods of base types that a method overrides or implements."""
        owner = self._type_of(item)
        if owner is None:
            return []
        found = (self.resolver.member(base, item.name) for base in self.resolver.types.bases(owner))
        return [node for node in found if isinstance(node, Node) and node.id != item.id]

    def _overriding(self, item: Node) -> Iterator[Node]:
        owner = self._type_of(item)
        if owner is None:
            return
        for link in self.incoming(owner, frozenset({EdgeKind.INHERITS})):
            replaced = self.resolver.member(link.source, item.name)
            if isinstance(replaced, Node) and replaced.id != item.id:
                yield replaced

    def _type_of(self, item: Node) -> Node | None:
        if item.kind not in FUNCTION_KINDS or item.parent_id is None:
            return None
        owner = self.graph.item(item.parent_id)
        return owner if owner is not None and owner.kind in TYPE_KINDS else None


_NEIGHBOURS = 20


def neighbours(
    graph: Graph, item_ids: Iterable[int], *, kinds: frozenset[EdgeKind], max_files: int
) -> Mapping[int, list[tuple[int, EdgeKind, Direction]]]:
    """Return the items that each item uses (`OUT`), and the items that use it (`IN`).

    At most 20 items are returned for each item and direction. Only resolved edges count. At most
    `max_files` files are searched for uses of a name.
    """
    edges = Edges(graph, max_files=max_files)
    found: dict[int, list[tuple[int, EdgeKind, Direction]]] = {}
    for item_id in dict.fromkeys(item_ids):
        item = graph.item(item_id)
        if item is None:
            continue
        near: dict[tuple[int, EdgeKind, Direction], None] = {}
        walks: tuple[tuple[Direction, Callable[..., Iterator[Link]]], ...] = (
            (Direction.OUT, edges.outgoing),
            (Direction.IN, edges.incoming),
        )
        for direction, walk in walks:
            count = 0
            for link in walk(item, kinds):
                other = link.target if direction is Direction.OUT else link.source
                if other is None or link.target is None or other.id == item_id:
                    continue
                key = (other.id, link.kind, direction)
                if key in near:
                    continue
                near[key] = None
                count += 1
                if count == _NEIGHBOURS:
                    break
        found[item_id] = list(near)
    return found


_MAX_EDGES = 2_000


def walk(
    graph: Graph,
    item_id: int,
    *,
    kinds: frozenset[EdgeKind],
    direction: Direction | None,
    depth: int,
) -> EdgeList:
    """Return the edges up to `depth` steps away from an item, in order of their steps.

    Within a step, resolved edges come first, and outgoing edges come before incoming edges. From
    the second step on, only resolved edges are followed and listed.
    """
    edges = Edges(graph)
    start = graph.item(item_id)
    found: list[Edge] = []
    level = [start] if start is not None else []
    seen_items = {item_id}
    seen_edges: set[tuple[object, ...]] = set()
    cut = False
    for step in range(1, depth + 1):
        following: list[Node] = []
        here: list[Edge] = []
        for item in level:
            for way, link in _links(edges, item, kinds, direction):
                if step > 1 and link.target is None:
                    continue
                target = link.target.id if link.target is not None else link.text
                key = (link.kind, link.source.id, target)
                if key in seen_edges:
                    continue
                if len(found) + len(here) >= _MAX_EDGES:
                    cut = True
                    break
                seen_edges.add(key)
                here.append(_edge(graph, link, way, step))
                other = link.target if way is Direction.OUT else link.source
                if link.target is not None and other is not None and other.id not in seen_items:
                    seen_items.add(other.id)
                    following.append(other)
        here.sort(key=lambda edge: (edge.target is None, edge.direction != Direction.OUT))
        found += here
        level = following
    return EdgeList(tuple(found), cut or edges.cut)


def _links(
    edges: Edges, item: Node, kinds: frozenset[EdgeKind], direction: Direction | None
) -> Iterator[tuple[Direction, Link]]:
    if direction is not Direction.IN:
        for link in edges.outgoing(item, kinds):
            yield Direction.OUT, link
    if direction is not Direction.OUT:
        for link in edges.incoming(item, kinds):
            yield Direction.IN, link


def _edge(graph: Graph, link: Link, direction: Direction, step: int) -> Edge:
    source = _found_item(graph, link.source)
    target = _found_item(graph, link.target) if link.target is not None else None
    reason = link.reason.value if link.reason is not None else None
    line = link.line or (target or source).start_line
    file = source.file if link.line or target is None else target.file
    return Edge(
        link.kind,
        direction,
        source,
        target,
        link.text,
        file,
        line,
        link.start,
        link.end,
        reason,
        step,
    )


def _found_item(graph: Graph, node: Node) -> FoundItem:
    return FoundItem(
        node.id, node.name, node.canonical_path, node.kind, graph.file(node.file_id)[0],
        node.start_line, node.end_line, node.start_byte, node.end_byte, node.signature_start,
        node.signature_end,
    )  # fmt: skip


def broken_uses(graph: Graph, name: str, file: str) -> list[Edge]:
    """Return uses of the name of an item that `file` no longer defines, without a target.

    These are imports of the name from `file`, and other uses that no reachable definition
    explains. The `unresolved` of an edge states the reason.
    """
    edges = Edges(graph)
    found: list[Link] = []
    for file_id in graph.mentioning(name, _MAX_FILES):
        items = graph.items(file_id)
        references = graph.references(file_id)
        found += (
            Link(
                EdgeKind.IMPORTS, items[entry.scope], None, entry.name, entry.start, entry.end,
                entry.line, Reason.NOT_FOUND,
            )
            for entry in references.imports
            if entry.member == name and edges.imports_from(file_id, entry, file)
        )  # fmt: skip
        found += (
            Link(
                _KINDS[use.kind], items[use.scope], None, use.text, use.start, use.end, use.line,
                Reason.NOT_FOUND,
            )
            for use in references.uses({name})
            if edges.resolver.target(file_id, use) is Reason.NOT_FOUND
        )  # fmt: skip
    return [_edge(graph, link, Direction.IN, 1) for link in found]


_FAMILIES = {
    "tsx": "typescript", "javascript": "typescript", "kotlin": "java", "cpp": "c",
}  # fmt: skip
"""Maps a language to its family. Languages of one family can use the items of each other."""

_BY_RECEIVER_ONLY = frozenset({"python", "typescript", "rust", "go"})
"""Languages whose methods are never called by their bare name."""

_VALUES_HAVE_METHODS_ONLY = frozenset({"rust", "go"})
"""Languages in which a call on a value never calls a function of a module."""


class Possible:
    """Decides whether unresolved uses of a name may refer to one item."""

    def __init__(self, graph: Graph, item: Node, replaced: Sequence[Node]) -> None:
        self._graph = graph
        self._item = item
        self._replaced = {(node.file_id, node.canonical_path) for node in replaced}
        self._family = self._family_of(item.file_id)
        self._method = item.kind == Kind.METHOD or (
            item.kind in FUNCTION_KINDS and item.parent_id is not None
        )
        self._homes = self._homes_of(item)

    def reason(self, file_id: int, use: Reference, found: Node | Reason | None) -> Reason | None:
        """Return the reason why a use may still refer to the item, or None if it cannot.

        `found` is the item to which the use was resolved, or the reason why it was not resolved.
        """
        if isinstance(found, Node):
            replaced = (found.file_id, found.canonical_path) in self._replaced
            return Reason.REPLACED if replaced else None
        mere_type = use.kind not in CALLS and self._item.kind not in TYPE_KINDS
        if found is None or mere_type or self._family_of(file_id) != self._family:
            return None
        return found if self._by_language(file_id, use, found) else None

    def _by_language(self, file_id: int, use: Reference, found: Reason) -> bool:
        known_value = found is not Reason.UNKNOWN_TYPE
        receiver = use.text[: -len(self._item.name)] if use.text.endswith(self._item.name) else ""
        if self._method and not receiver and known_value and self._family in _BY_RECEIVER_ONLY:
            return False
        on_value = receiver.endswith(".") and (self._family == "rust" or not known_value)
        if on_value and not self._method and self._family in _VALUES_HAVE_METHODS_ONLY:
            return False
        outside = found is Reason.OUTSIDE and bool(receiver)
        return not outside or self._may_be_home(file_id, receiver)

    def _family_of(self, file_id: int) -> str:
        language = self._graph.file(file_id)[1]
        return _FAMILIES.get(language, language)

    def _homes_of(self, item: Node) -> set[str]:
        """Return the names of the type, the module and the package of an item."""
        path = self._graph.file(item.file_id)[0]
        folder, _, file = path.rpartition("/")
        homes = {folder.rpartition("/")[2], file.partition(".")[0]}
        parts = item.canonical_path.replace("::", ".").replace("/", ".").split(".")
        return (homes | set(parts[:-1])) - {""}

    def _may_be_home(self, file_id: int, receiver: str) -> bool:
        """Whether a receiver may be the type, the module or the package of the item.

        The receiver may also be the name that an import binds to one of these.
        """
        first, *rest = receiver.replace("::", ".").strip(".").split(".")
        names = {rest[-1]} if rest else {first}
        if not rest:
            for entry in self._graph.references(file_id).imports:
                if entry.name == first:
                    names |= {entry.member, last_part(entry.module)}
        return not names.isdisjoint(self._homes)
