"""Arranges spans as trees by their parent ids, even if parents are missing or form cycles."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from operator import attrgetter
from typing import Generic, NamedTuple, Protocol, TypeVar


class TreeSpan(Protocol):
    """The attributes of a span that determine its position in a tree."""

    @property
    def span_id(self) -> str: ...
    @property
    def parent_id(self) -> str | None: ...
    @property
    def start_us(self) -> int: ...


T = TypeVar("T", bound=TreeSpan)


class Node(NamedTuple, Generic[T]):
    """A span at its position in a tree.

    `span` is None for a missing parent, whose `span_id` is known from its children. `cycle` is true
    for the span at which a cycle of parents is cut.
    """

    depth: int
    span_id: str
    span: T | None
    cycle: bool = False


def arrange(spans: Sequence[T]) -> list[Node[T]]:
    """Arrange the spans as trees, parents before their children, and siblings by start time.

    Every span occurs exactly once. A missing parent becomes a node without a span. The earliest
    span of a cycle of parents becomes a root whose `cycle` is true. A span that is its own parent
    is such a cycle. The function takes linear time after sorting, and is not recursive.
    """
    ordered = sorted(spans, key=_BY_START)
    known = {span.span_id: span for span in ordered}
    arranged = _arranged(ordered, known, ())
    if sum(node.span is not None for node in arranged) < len(ordered):
        # Spans in a cycle, and the spans below them, are not below any root.
        reached = {node.span_id for node in arranged}
        left = [span for span in ordered if span.span_id not in reached]
        arranged = _arranged(ordered, known, _cycle_heads(left, known))
    return arranged


def _arranged(
    ordered: Sequence[T], known: Collection[str], heads: Collection[str]
) -> list[Node[T]]:
    """Return the nodes of all trees.

    `heads` are the ids of spans that become roots to cut cycles.
    """
    children: dict[str, list[T]] = defaultdict(list)
    roots: list[Node[T]] = []
    for span in ordered:
        parent_id = span.parent_id
        if parent_id is None or span.span_id in heads:
            roots.append(Node(0, span.span_id, span, cycle=span.span_id in heads))
            continue
        if parent_id not in known and parent_id not in children:
            roots.append(Node(0, parent_id, None))
        children[parent_id].append(span)
    arranged: list[Node[T]] = []
    waiting = roots[::-1]
    while waiting:
        node = waiting.pop()
        arranged.append(node)
        below = children.get(node.span_id)
        if below:
            depth = node.depth + 1
            waiting += [Node(depth, span.span_id, span) for span in reversed(below)]
    return arranged


_BY_START = attrgetter("start_us", "span_id")


def _cycle_heads(spans: Sequence[T], known: dict[str, T]) -> set[str]:
    """Return the id of the earliest span of every cycle of parents."""
    heads: set[str] = set()
    settled: set[str] = set()
    for start in spans:
        path: dict[str, None] = {}
        current: T | None = start
        while current and current.span_id not in settled and current.span_id not in path:
            path[current.span_id] = None
            current = known.get(current.parent_id) if current.parent_id is not None else None
        if current and current.span_id in path:
            walked = list(path)
            cycle = walked[walked.index(current.span_id) :]
            heads.add(min((known[span_id] for span_id in cycle), key=_BY_START).span_id)
        settled.update(path)
    return heads
