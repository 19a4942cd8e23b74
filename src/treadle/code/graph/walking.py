"""Walks along edges from one item, level by level, and says what was left out."""

from collections.abc import Iterator

from treadle.code.graph.edges import Edges, Link
from treadle.code.graph.tables import Graph, Node
from treadle.code.model import Direction, Edge, EdgeKind, EdgeList, FoundItem

_MAX_EDGES = 2_000


def walk(
    graph: Graph,
    item_id: int,
    *,
    kinds: frozenset[EdgeKind],
    direction: Direction | None,
    depth: int,
) -> EdgeList:
    """The edges of an item up to `depth` steps away; resolved ones first, then by position.

    From the second step on only resolved edges are walked further and listed.
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
    source = _item(graph, link.source)
    target = _item(graph, link.target) if link.target is not None else None
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


def _item(graph: Graph, node: Node) -> FoundItem:
    return FoundItem(
        node.id, node.name, node.canonical_path, node.kind, graph.file(node.file_id)[0],
        node.start_line, node.end_line, node.start_byte, node.end_byte, node.signature_start,
        node.signature_end,
    )  # fmt: skip
