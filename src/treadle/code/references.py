"""What the code of a file refers to: calls, types, bases and imports, with the scope they are in.

Read at parse time from one file alone; what a reference means is found later, from these and the
items of the files concerned (`treadle.code.graph`).
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from treadle.code.model import FUNCTION_KINDS, TYPE_KINDS, Item, Kind

if TYPE_CHECKING:
    from tree_sitter import Node

    from treadle.code.extract import Lines
    from treadle.code.languages.base import Language

FILE_SCOPE = -1
"""The scope of what stands outside of all items."""


class ReferenceKind(IntEnum):
    """How a reference uses what it names. The numbers are stored."""

    CALL = 1
    TYPE = 2
    BASE = 3


class Reference(NamedTuple):
    """A use of a name.

    `scope` is the place of the innermost item around it in the list of the file's items. `text`
    is the name as written; `path` is what to resolve, its parts joined by dots: the receiver is
    replaced by its declared type where the file says it (`store.write` with `store: Store` is
    `Store.write`), and empty where the receiver is a value of unknown type.
    """

    kind: ReferenceKind
    scope: int
    text: str
    path: str
    start: int
    end: int
    line: int


class Import(NamedTuple):
    """A name that an import binds in `scope`.

    `name` is "*" where all public names are bound, and empty where none is (a re-export binds
    none). `member` is empty where the module itself is meant. `exported` is the name under which
    others can import it from here, empty if they cannot.
    """

    scope: int
    name: str
    module: str
    member: str
    exported: str
    start: int
    end: int
    line: int


class Imported(NamedTuple):
    """An import as a language reads it from its syntax; see `Import`."""

    name: str
    module: str
    member: str = ""
    exported: str = ""


@dataclass(frozen=True, slots=True)
class FileReferences:
    """All references and imports of one file, in order of position.

    `module` is what a manifest says that its folder is imported as: `go.mod` or `Cargo.toml`, a
    space, and the name; for the latter also the root files that it names, each on a line, the
    library's first (empty where it has the usual one).
    """

    references: list[Reference] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    module: str = ""


_MAX_REFERENCES = 20_000
"""Of one file; more are generated code."""
_MAX_TEXT = 120
_PATH = re.compile(r"[\w$@]+(?:\.[\w$]+)*")
_MADE = re.compile(r"\(?([\w$]+)\((?:[^()]|\([^()]*\))*\)\)?\.([\w$]+)")
_LAST_NAME = re.compile(r"\.\s*([\w$]+)$")
_CALLED = re.compile(rb"!?\s*\(|!\s*[\[{]")
_DEFINING = re.compile(rb"\b(?:fn|struct|enum|union|mod)\s+$|[$']$")
_RECEIVER = re.compile(rb"[)\]?]?(?:\w*\s*(?:::|\.)\s*)+$")
_SEPARATOR = re.compile(r"\s*(?:::<|::|\?\.|!\.|->|\?->|\\|\.)\s*")
_NOT_A_TYPE = re.compile(
    r"&|\*|'\w+\b(?!')|\b(?:mut|dyn|impl|const|ref|in|out|final|readonly)\s|[\"']"
)
_NOTHING = re.compile(r"\s*\|\s*(?:None|null|undefined)\b|\b(?:None|null|undefined)\s*\|\s*|[?!]$")
_TRANSPARENT = re.compile(r"(?:Optional\[|(?:Box|Rc|Arc)<)(.*)[\]>]", re.DOTALL)
"""Types whose methods are called as those of what they hold."""


class Collector:
    """Gathers what the reference query of a language captures, then gives it scopes."""

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
        """`name` is where something is defined, which is no use of it."""
        self._defined.add(name.start_byte)

    def read(self, captures: "dict[str, list[Node]]") -> None:
        """Take what a pattern for references captured."""
        for name, nodes in captures.items():
            kind = _USES.get(name)
            if kind is not None:
                node = nodes[0]
                start = node.start_byte
                if "receiver" in captures:
                    start = min(start, captures["receiver"][0].start_byte)
                self._uses.append((start, node.end_byte, kind))
                if len(nodes) > 1:
                    self._uses += [(other.start_byte, other.end_byte, kind) for other in nodes[1:]]
            elif name == "token":
                self._uses += [use for node in nodes if (use := self._in_tokens(node)) is not None]
            elif name in {"local", "generic"}:
                found = self._locals if name == "local" else self._generics
                found += [(node.start_byte, self._text(node)) for node in nodes]
            elif name == "import":
                self._import(nodes[0])
            elif name in {"bound", "field", "owned"}:
                self._declare(name, nodes, captures)

    def _text(self, node: "Node") -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _import(self, node: "Node") -> None:
        self._imports.append((node.start_byte, node.end_byte, self._language.imports(node)))

    def _in_tokens(self, node: "Node") -> tuple[int, int, ReferenceKind] | None:
        """A call among the tokens of a macro, which have no syntax: a path before a `(`."""
        before = self._source[max(0, node.start_byte - _MAX_TEXT) : node.start_byte]
        if not _CALLED.match(self._source, node.end_byte) or _DEFINING.search(before):
            return None
        receiver = _RECEIVER.search(before)
        length = len(receiver.group()) if receiver is not None else 0
        return node.start_byte - length, node.end_byte, ReferenceKind.CALL

    def _declare(
        self, capture: str, nodes: "list[Node]", captures: "dict[str, list[Node]]"
    ) -> None:
        """`@bound` is a variable, `@field` a field, `@owned` either by where it stands."""
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
        """All that was read, with its scopes; `items` are ordered by position."""
        scopes = _Scopes(items)
        known = _Known(self._language, items, scopes)
        known.declare(self._locals, self._generics, self._typed, self._fields, self._same)
        imports: list[Import] = []
        for start, end, found in sorted(self._imports, key=lambda entry: entry[:2]):
            around, line = known.holder(scopes.at(start)), lines.of(start)
            module = known.module(around)  # an export covers the item that it exports
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
        self, scopes: "_Scopes", known: "_Known", lines: "Lines", bound: set[str]
    ) -> list[Reference]:
        """The uses, each name once in a scope, without built-in names and type parameters."""
        seen: set[tuple[ReferenceKind, int, str]] = set()
        references: list[Reference] = []
        for start, end, kind in self._outermost():
            raw = self._source[start : min(end, start + 4 * _MAX_TEXT)]
            is_call = kind is ReferenceKind.CALL
            text, path = _names(raw, is_call)
            scope = scopes.at(start)
            key = (kind, scope, text)
            if not text or key in seen or (not is_call and path in self._language.self_names):
                continue
            first = path.partition(".")[0].removesuffix("()")
            if first in self._language.builtins and first not in bound:
                continue
            seen.add(key)
            resolved = known.typed_path(scope, path)
            if resolved is None:
                continue
            references.append(Reference(kind, scope, text, resolved, start, end, lines.of(start)))
            if len(references) >= _MAX_REFERENCES:
                break
        return references

    def _outermost(self) -> Iterator[tuple[int, int, ReferenceKind]]:
        """The uses by position, without the parts of a qualified type and without doubles."""
        stronger = {start for start, _, kind in self._uses if kind is not ReferenceKind.TYPE}
        inside_of = 0
        for start, end, kind in sorted(set(self._uses), key=lambda use: (use[0], -use[1])):
            if kind is ReferenceKind.TYPE:
                if start in stronger or start in self._defined or start < inside_of:
                    continue
                inside_of = end
            elif kind is ReferenceKind.BASE and b"<" not in self._source[start:end]:
                inside_of = end
            yield start, end, kind


_USES = {"call": ReferenceKind.CALL, "type": ReferenceKind.TYPE, "base": ReferenceKind.BASE}


class _Scopes:
    """Which item is innermost at an offset."""

    def __init__(self, items: Sequence[Item]) -> None:
        edges: list[tuple[int, int]] = [(0, FILE_SCOPE)]
        open_items: list[int] = []
        for place, item in enumerate(items):
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


class _Known:
    """What a file says of its own names: local variables, their types, and those of fields."""

    def __init__(self, language: "Language", items: Sequence[Item], scopes: _Scopes) -> None:
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


@lru_cache(20_000)
def type_name(written: str) -> str:
    """The type whose members a value has that is declared as `written`; empty if that is unclear.

    References, pointers, quotes and "or nothing" are stripped, and the arguments of generics.
    """
    text = _NOTHING.sub("", _NOT_A_TYPE.sub("", written.strip().lstrip(":").strip())).strip()
    inside = _TRANSPARENT.fullmatch(text)
    if inside:
        return type_name(inside.group(1))
    text = re.split(r"[<\[({]", text, maxsplit=1)[0].strip()
    text = _SEPARATOR.sub(".", text).strip(".")
    return text if _PATH.fullmatch(text) and len(text) <= _MAX_TEXT else ""


@lru_cache(20_000)
def _names(raw: bytes, is_call: bool) -> tuple[str, str]:
    """A reference as it is shown and as it is resolved; the latter empty for chained calls."""
    written = raw.decode("utf-8", "replace")
    if written.isidentifier() and len(written) <= _MAX_TEXT:
        return written, written
    written = written.strip().strip("\"'&*?")
    text = _without_arguments("".join(written.split()))
    path = _SEPARATOR.sub(".", text).strip(".").replace("super().", "super.")
    if len(path) <= _MAX_TEXT and _PATH.fullmatch(path):
        return text, path
    new = _MADE.fullmatch(path)
    if new is not None and is_call and len(path) <= _MAX_TEXT:
        return f"{new.group(1)}().{new.group(2)}", f"{new.group(1)}().{new.group(2)}"
    last = _LAST_NAME.search(_SEPARATOR.sub(".", text[-_MAX_TEXT:])) if is_call else None
    return (f"….{last.group(1)}", "") if last else ("", "")


def _without_arguments(text: str) -> str:
    """`text` without type arguments."""
    if "<" not in text and "[" not in text:
        return text
    depth = 0
    kept: list[str] = []
    for character in text:
        if character in "<[":
            depth += 1
        if depth == 0:
            kept.append(character)
        if character in ">]" and depth:
            depth -= 1
    return "".join(kept).removesuffix("::")
