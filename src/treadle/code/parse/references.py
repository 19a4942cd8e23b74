"""Reads the references of a file: used names and imports, with their scopes."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from treadle.code.model import FUNCTION_KINDS, TYPE_KINDS, Item, Kind
from treadle.code.parse.names import MAX_EXPRESSION_BYTES, MAX_NAME, last_name, names, type_name
from treadle.code.references import (
    CALLS,
    FILE_SCOPE,
    FileReferences,
    Import,
    Imported,
    Reference,
    ReferenceKind,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from treadle.code.languages.base import Language
    from treadle.code.text import Lines


class Scopes:
    """Finds the innermost item at a byte offset.

    For an offset in a field of a type, the result is the type.
    """

    def __init__(self, items: Sequence[Item]) -> None:
        edges: list[tuple[int, int]] = [(0, FILE_SCOPE)]
        open_items: list[int] = []
        for position, item in enumerate(items):
            owner = None if item.parent is None else items[item.parent]
            if item.kind is Kind.CONSTANT and owner is not None and owner.kind in TYPE_KINDS:
                continue  # references in a field belong to the type that has the field
            while open_items and items[open_items[-1]].end_byte <= item.start_byte:
                ended = items[open_items.pop()].end_byte
                edges.append((ended, open_items[-1] if open_items else FILE_SCOPE))
            edges.append((item.start_byte, position))
            open_items.append(position)
        while open_items:
            ended = items[open_items.pop()].end_byte
            edges.append((ended, open_items[-1] if open_items else FILE_SCOPE))
        self._starts = [start for start, _ in edges]
        self._scopes = [scope for _, scope in edges]

    def at(self, offset: int) -> int:
        return self._scopes[bisect_right(self._starts, offset) - 1]


class DeclaredNames:
    """The names that a file declares: local variables and fields, with their types."""

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
        """Return the innermost function, type or module that contains `scope`, or `FILE_SCOPE`.

        A constant is never the result, since it does not declare names.
        """
        while scope >= 0 and self._items[scope].kind not in _HOLDERS:
            scope = self._up(scope)
        return scope

    def module(self, scope: int) -> int:
        """Return the innermost module that contains `scope`, or `FILE_SCOPE`."""
        while scope >= 0 and self._items[scope].kind is not Kind.MODULE:
            scope = self._up(scope)
        return scope

    def _owner(self, scope: int) -> str:
        """Return the name of the type that encloses `scope`, or "" outside of types."""
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
        """Return `path` with the type of its receiver in place of the receiver.

        The result is empty if the type is unknown, and None if `path` is only a type parameter.
        """
        if not path:
            return ""
        first, _, rest = path.partition(".")
        is_new = first.endswith("()")  # a call of a type returns a new object
        first = first.removesuffix("()")
        here = scope
        while True:
            if first in self._generics.get(here, ()):
                return "" if rest else None
            known = self._variables.get(here, {}).get(first)
            if known is not None:
                if rest or here >= 0:  # a bare name at file scope stays unchanged
                    path = f"{known}.{rest}" if known and rest and not is_new else ""
                break
            if here < 0:
                break
            here = self._up(here)
        return path.replace("()", "") if is_new else self._through_fields(scope, path)

    def _through_fields(self, scope: int, path: str) -> str:
        """Replace `Type.field.method` by `FieldType.method`, if this file declares the field."""
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
    """Record the type of a name.

    If a name has two declarations with different types, its type is unknown.
    """
    known[name] = type_text if known.get(name, type_text) == type_text else ""


_MAX_REFERENCES = 20_000
"""The maximum number of references in one file. A file with more references is generated code."""

_CALLED = re.compile(rb"!?\s*\(|!\s*[\[{]")

_DEFINING = re.compile(rb"\b(?:fn|struct|enum|union|mod)$")

_RECEIVER = re.compile(rb"[)\]?]?(?:\w*+\s*+(?:::|\.)\s*+)++$")


class Collector:
    """Collects the captures of a language's reference query, then adds their scopes."""

    def __init__(self, language: "Language", source: bytes) -> None:
        self._language = language
        self._source = source
        self._uses: list[tuple[int, int, ReferenceKind]] = []
        self._imports: list[tuple[int, int, list[Imported]]] = []
        self._locals: list[tuple[int, str]] = []
        self._generics: list[tuple[int, str]] = []
        self._typed: list[tuple[int, str, str]] = []
        self._fields: list[tuple[int, str, str]] = []
        self._same: list[tuple[int, str, str]] = []
        self._defined: set[int] = set()

    def defines(self, name: "Node") -> None:
        """Record the name in a definition, which is not a use of the name."""
        self._defined.add(name.start_byte)

    def read(self, captures: "dict[str, list[Node]]") -> None:
        """Add the captures of one match of a reference pattern."""
        for name, nodes in captures.items():
            kind = _USES.get(name)
            if kind is not None:
                start = nodes[0].start_byte
                if "receiver" in captures:
                    start = min(start, captures["receiver"][0].start_byte)
                self._uses.append((start, -nodes[0].end_byte, kind))
                if len(nodes) > 1:
                    self._uses += [(node.start_byte, -node.end_byte, kind) for node in nodes[1:]]
            elif name == "local":
                self._locals += [(node.start_byte, self._text(node)) for node in nodes]
            elif name == "token":
                self._uses += [use for node in nodes if (use := self._in_tokens(node)) is not None]
            elif name == "generic":
                self._generics += [(node.start_byte, self._text(node)) for node in nodes]
            elif name == "import":
                self._import(nodes[0])
            elif name in {"bound", "field"}:
                self._declare(name, nodes, captures)

    def _text(self, node: "Node") -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _import(self, node: "Node") -> None:
        self._imports.append((node.start_byte, node.end_byte, self._language.imports(node)))

    def _in_tokens(self, node: "Node") -> tuple[int, int, ReferenceKind] | None:
        """Return the call whose name ends with a token inside a macro, or None.

        The tokens inside a macro have no syntax tree. Therefore a path before a `(` counts as a
        call.
        """
        start, end = node.start_byte, node.end_byte
        if not _CALLED.match(self._source, end):
            return None
        before = self._source[max(0, start - MAX_NAME) : start]
        joined = before.rstrip()
        if before.endswith((b"$", b"'")) or (joined != before and _DEFINING.search(joined)):
            return None
        if joined.endswith((b"::", b".")):
            receiver = _RECEIVER.search(before)
            start -= len(receiver.group()) if receiver is not None else 0
        return start, -end, ReferenceKind.CALL

    def _declare(
        self, capture: str, nodes: "list[Node]", captures: "dict[str, list[Node]]"
    ) -> None:
        """Record the names that a match declares, with their type.

        `@bound` is a variable or a field, depending on its position. `@field` is always a field.
        """
        same = captures.get("same")
        written = self._text(same[0] if same else captures["of"][0])
        for node in nodes:
            found = (node.start_byte, self._text(node), written)
            if same:
                self._same.append(found)
            elif capture == "field":
                self._fields.append(found)
            else:
                self._typed.append(found)

    def finish(self, items: Sequence[Item], lines: "Lines") -> FileReferences:
        """Return the collected references with their scopes. `items` are ordered by position."""
        scopes = Scopes(items)
        known = DeclaredNames(self._language, items, scopes)
        known.declare(self._locals, self._generics, self._typed, self._fields, self._same)
        imports: list[Import] = []
        for start, end, found in sorted(self._imports, key=lambda entry: entry[:2]):
            around, line = known.holder(scopes.at(start)), lines.of(start)
            module = known.module(around)  # the scope of an export is not the exported item
            imports += [
                Import(
                    around if entry.name else module, entry.name, entry.module, entry.member,
                    entry.exported, start, end, line,
                )
                for entry in found
            ]  # fmt: skip
        bound = {entry.name for entry in imports} | {item.name for item in items}
        return FileReferences(
            self._resolvable(scopes, known, lines, bound), list(dict.fromkeys(imports))
        )

    def _resolvable(
        self, scopes: Scopes, known: DeclaredNames, lines: "Lines", bound: set[str]
    ) -> list[Reference]:
        """Return the uses as references, without built-in names and type parameters.

        Each name is returned only once for a scope and a kind.
        """
        self_names, builtins = self._language.self_names, self._language.builtins - bound
        replaceable = _replaceable(self._language.shares_names, "*" in bound)
        seen: set[tuple[ReferenceKind, int, str]] = set()
        references: list[Reference] = []
        for start, end, found in self._outermost():
            kind = found
            text, path = self._names(start, end, kind)
            if not text:
                continue
            if path.partition(".")[0].removesuffix("()") in builtins:
                if kind not in replaceable:
                    continue
                kind = replaceable[kind]
            scope = scopes.at(start)
            key = (kind, scope, text)
            if key in seen or (path in self_names and kind not in CALLS):
                continue
            seen.add(key)
            resolved = known.typed_path(scope, path)
            if resolved is None:
                continue
            references.append(Reference(kind, scope, text, resolved, start, end, lines.of(start)))
            if len(references) >= _MAX_REFERENCES:
                break
        return references

    def _names(self, start: int, end: int, kind: ReferenceKind) -> tuple[str, str]:
        """Return the written name and the name to resolve.

        For a long chain of calls, the written name is that of the last call, and the name to
        resolve is empty.
        """
        if end - start <= MAX_EXPRESSION_BYTES:
            return names(self._source[start:end], kind is ReferenceKind.CALL)
        if kind is not ReferenceKind.CALL:
            return names(self._source[start : start + MAX_EXPRESSION_BYTES], False)
        return last_name(self._source[end - MAX_EXPRESSION_BYTES : end].decode("utf-8", "replace"))

    def _outermost(self) -> Iterator[tuple[int, int, ReferenceKind]]:
        """Yield the uses in order of position, without duplicates and parts of qualified types.

        The sort key has the negated end, so that the longer of two uses at one position comes
        first.
        """
        stronger = {start for start, _, kind in self._uses if kind is not ReferenceKind.TYPE}
        stronger |= self._defined
        inside_of = 0
        for start, negated, kind in sorted(set(self._uses)):
            end = -negated
            if kind is ReferenceKind.TYPE:
                if start < inside_of or start in stronger:
                    continue
                inside_of = end
            elif kind is ReferenceKind.BASE and b"<" not in self._source[start:end]:
                inside_of = end
            yield start, end, kind


def _replaceable(by_neighbours: bool, by_import: bool) -> dict[ReferenceKind, ReferenceKind]:
    """Return the kinds of uses for which built-in names are kept, with the kinds to store.

    The repository may define a built-in name if neighbouring files or star imports can bind it.
    """
    kept: dict[ReferenceKind, ReferenceKind] = {}
    if by_neighbours or by_import:
        kept[ReferenceKind.CALL] = ReferenceKind.BUILT_IN_CALL
    if by_import:
        kept[ReferenceKind.TYPE] = ReferenceKind.BUILT_IN_TYPE
        kept[ReferenceKind.BASE] = ReferenceKind.BASE
    return kept


_USES = {"call": ReferenceKind.CALL, "type": ReferenceKind.TYPE, "base": ReferenceKind.BASE}
