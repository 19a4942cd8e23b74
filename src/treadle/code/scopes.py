"""What a file says of its own names: which item is around a place, variables, fields and types."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from treadle.code.model import FUNCTION_KINDS, TYPE_KINDS, Item, Kind
from treadle.code.references import FILE_SCOPE
from treadle.code.written import type_name

if TYPE_CHECKING:
    from treadle.code.languages.base import Language


class Scopes:
    """Which item is innermost at an offset; the fields of a type are part of the type."""

    def __init__(self, items: Sequence[Item]) -> None:
        edges: list[tuple[int, int]] = [(0, FILE_SCOPE)]
        open_items: list[int] = []
        for place, item in enumerate(items):
            owner = None if item.parent is None else items[item.parent]
            if item.kind is Kind.CONSTANT and owner is not None and owner.kind in TYPE_KINDS:
                continue  # what a field uses, its type uses
            while open_items and items[open_items[-1]].end_byte <= item.start_byte:
                ended = items[open_items.pop()].end_byte
                edges.append((ended, open_items[-1] if open_items else FILE_SCOPE))
            edges.append((item.start_byte, place))
            open_items.append(place)
        while open_items:
            ended = items[open_items.pop()].end_byte
            edges.append((ended, open_items[-1] if open_items else FILE_SCOPE))
        self._starts = [start for start, _ in edges]
        self._scopes = [scope for _, scope in edges]

    def at(self, offset: int) -> int:
        return self._scopes[bisect_right(self._starts, offset) - 1]


class Known:
    """What a file says of its own names: local variables, their types, and those of fields."""

    def __init__(self, language: "Language", items: Sequence[Item], scopes: Scopes) -> None:
        self._language = language
        self._items = items
        self._scopes = scopes
        self._generics: dict[int, set[str]] = {}
        self._variables: dict[int, dict[str, str]] = {}
        self._fields: dict[str, dict[str, str]] = {}

    def declare(
        self,
        untyped: Iterable[tuple[int, str]],
        generics: Iterable[tuple[int, str]],
        typed: Iterable[tuple[int, str, str]],
        fields: Iterable[tuple[int, str, str]],
        same: Iterable[tuple[int, str, str]],
    ) -> None:
        for start, name in generics:
            self._generics.setdefault(self._scopes.at(start), set()).add(name)
        for start, name, written in typed:
            self._variable(start, name, type_name(written))
        for start, name, written in fields:
            self._field(self._owner(self._scopes.at(start)), name, type_name(written))
        for start, name, variable in same:
            scope = self.holder(self._scopes.at(start))
            known = self._variables.get(scope, {}).get(variable, "")
            self._field(self._owner(scope), name, known)
        typed_starts = {start for start, _, _ in typed}
        for start, name in untyped:
            if start not in typed_starts:
                self._variable(start, name, "")

    def holder(self, scope: int) -> int:
        """The function, type or module around a place, or the file; constants hold no names."""
        while scope >= 0 and self._items[scope].kind not in _HOLDERS:
            scope = self._up(scope)
        return scope

    def module(self, scope: int) -> int:
        """The module around a place, or the file."""
        while scope >= 0 and self._items[scope].kind is not Kind.MODULE:
            scope = self._up(scope)
        return scope

    def _owner(self, scope: int) -> str:
        """The name of the type around a place, empty outside of types."""
        while scope >= 0:
            if self._items[scope].kind in TYPE_KINDS:
                return self._items[scope].name
            receiver = self._language.receiver(self._items[scope])
            if receiver:
                return receiver
            scope = self._up(scope)
        return ""

    def _up(self, scope: int) -> int:
        parent = self._items[scope].parent
        return FILE_SCOPE if parent is None else parent

    def _variable(self, start: int, name: str, type_text: str) -> None:
        scope = self.holder(self._scopes.at(start))
        if name in self._language.self_names:
            return
        if scope >= 0 and self._items[scope].kind in TYPE_KINDS:
            self._field(self._items[scope].name, name, type_text)
        elif scope >= 0 or type_text:
            _note(self._variables.setdefault(scope, {}), name, type_text)

    def _field(self, owner: str, name: str, type_text: str) -> None:
        if owner:
            _note(self._fields.setdefault(owner, {}), name, type_text)

    def typed_path(self, scope: int, path: str) -> str | None:
        """`path` with its receiver as a type; empty if unknown, None for a mere type parameter."""
        if not path:
            return ""
        first, _, rest = path.partition(".")
        made = first.endswith("()")  # a new object, if it is a type that is called
        first = first.removesuffix("()")
        here = scope
        while True:
            if first in self._generics.get(here, ()):
                return "" if rest else None
            known = self._variables.get(here, {}).get(first)
            if known is not None:
                if rest or here >= 0:  # a name of the file itself may be used as it is
                    path = f"{known}.{rest}" if known and rest and not made else ""
                break
            if here < 0:
                break
            here = self._up(here)
        return path.replace("()", "") if made else self._through_fields(scope, path)

    def _through_fields(self, scope: int, path: str) -> str:
        """`Type.field.method` as `FieldType.method`, where the type is of this file."""
        for _ in range(4):
            first, _, rest = path.partition(".")
            own = first in self._language.self_names
            owner = self._owner(scope) if own else first
            if not rest and self._language.implicit_self and first:
                return path
            name, _, after = rest.partition(".")
            if self._language.implicit_self and not own and first not in self._fields:
                implicit = self._fields.get(self._owner(scope), {}).get(first)
                if implicit is not None:
                    path = f"{implicit}.{rest}" if implicit else ""
                    continue
            if not after:
                return path
            known = self._fields.get(owner, {}).get(name)
            if known is None:
                return "" if own else path
            path = f"{known}.{after}" if known else ""
        return path


_HOLDERS = FUNCTION_KINDS | TYPE_KINDS | {Kind.MODULE}


def _note(known: dict[str, str], name: str, type_text: str) -> None:
    """Two declarations of one name with different types leave it unknown."""
    known[name] = type_text if known.get(name, type_text) == type_text else ""
