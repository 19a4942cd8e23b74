"""Finds unresolved uses of a name that may mean an item.

Uses are left out only if the rules of the language exclude them, or if they belong to another
library.
"""

from collections.abc import Sequence

from treadle.code.graph.reference_blobs import last_part
from treadle.code.graph.tables import Graph, Node
from treadle.code.graph.targets import Reason
from treadle.code.model import FUNCTION_KINDS, TYPE_KINDS, Kind
from treadle.code.references import CALLS, Reference

_FAMILIES = {
    "tsx": "typescript", "javascript": "typescript", "kotlin": "java", "cpp": "c",
}  # fmt: skip
"""Languages that can use each other's items, by one of them."""
_BY_RECEIVER_ONLY = frozenset({"python", "typescript", "rust", "go"})
"""Languages whose methods are never called by their bare name."""
_VALUES_HAVE_METHODS_ONLY = frozenset({"rust", "go"})
"""Languages where what is called on a value is never a function of a module."""


class Possible:
    """Examines the uses of the name of one item."""

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
        """Why an unresolved use may mean the item; None if it cannot."""
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
        """The names of the type, the module and the package of an item."""
        path = self._graph.file(item.file_id)[0]
        folder, _, file = path.rpartition("/")
        homes = {folder.rpartition("/")[2], file.partition(".")[0]}
        parts = item.canonical_path.replace("::", ".").replace("/", ".").split(".")
        return (homes | set(parts[:-1])) - {""}

    def _may_be_home(self, file_id: int, receiver: str) -> bool:
        """Whether a receiver is imported under the name of the item's type, module or package."""
        first, *rest = receiver.replace("::", ".").strip(".").split(".")
        names = {rest[-1]} if rest else {first}
        if not rest:
            for entry in self._graph.references(file_id).imports:
                if entry.name == first:
                    names |= {entry.member, last_part(entry.module)}
        return not names.isdisjoint(self._homes)
