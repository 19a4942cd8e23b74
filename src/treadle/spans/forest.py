"""Spans into trees by their parent links, whatever those say: cycles and gaps are shown."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from operator import attrgetter
from typing import Generic, NamedTuple, Protocol, TypeVar


class Placed(Protocol):
    """The attributes of a span that its position in a tree depends on."""

    @property
    def span_id(self) -> str: ...
    @property
    def parent_id(self) -> str | None: ...
    @property
    def start_us(self) -> int: ...


T = TypeVar("T", bound=Placed)


class Node(NamedTuple, Generic[T]):
    """A span at its place, in the order of reading: parents first, children by start time.

    `span` is None for a parent that never arrived; `span_id` is then what its children call it.
    `cycle` marks the span at which a ring of parents was cut open.
    """

    depth: int
    span_id: str
    span: T | None
    cycle: bool = False


def arrange(spans: Sequence[T]) -> list[Node[T]]:
    """Every span exactly once, below its parent where that exists. Linear, never recursive.

    A span that is its own parent and the earliest span of a ring of parents are shown as roots
    marked `cycle`; a parent that is not there becomes a node of its own.
    """
    ordered = sorted(spans, key=_BY_START)
    known = {span.span_id: span for span in ordered}
    arranged = _arranged(ordered, known, ())
    if sum(node.span is not None for node in arranged) < len(ordered):
        # No way leads from a root to those of a ring, nor to what is below one.
        reached = {node.span_id for node in arranged}
        left = [span for span in ordered if span.span_id not in reached]
        arranged = _arranged(ordered, known, _cycle_heads(left, known))
    return arranged


def _arranged(
    ordered: Sequence[T], known: Collection[str], heads: Collection[str]
) -> list[Node[T]]:
    """What is reached from the roots, among which are those `heads` of rings."""
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
    """The earliest span of every ring of parents."""
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
            ring = walked[walked.index(current.span_id) :]
            heads.add(min((known[span_id] for span_id in ring), key=_BY_START).span_id)
        settled.update(path)
    return heads
