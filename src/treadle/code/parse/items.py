"""Reads items from a syntax tree, with their nesting, canonical paths and ranges."""

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from treadle.code.languages.base import Language, Naming, text_of
from treadle.code.languages.comments import CommentOrAttribute, LeadingLines, leading, top_of_file
from treadle.code.languages.limits import limit_errors, limit_items, parse_in_time
from treadle.code.model import FUNCTION_KINDS, TYPE_KINDS, Item, Kind
from treadle.code.parse.references import Collector
from treadle.code.references import FileReferences
from treadle.code.text import Lines

if TYPE_CHECKING:
    from tree_sitter import Node, Range


_KINDS = {kind.value: kind for kind in Kind}

_MAX_NESTING = 32
"""The maximum nesting of items.

Deeper definitions are generated or hostile code. They are not items of their own.
"""

_MAX_DEPTH = 250
"""The maximum depth of the syntax tree that is searched for definitions.

The time of the search grows with the square of the depth.
"""

_MAX_NAME = 400

_MAX_EMBEDDING = 3
"""The maximum number of nested macros whose content is parsed as code."""


@dataclass(slots=True)
class _Definition:
    """A definition in the syntax tree below `root`.

    `start` and `end` include the code around the definition (`@range` in `Language`).
    """

    node: "Node"
    name: "Node"
    root: "Node"
    kind: Kind
    naming: Naming
    start: int
    end: int
    pattern: int


@dataclass(frozen=True, slots=True)
class Definition:
    """The syntax nodes of an item, its byte range, and the lines above it.

    `start` and `end` include the code around the definition, such as decorators. `node` is the
    definition alone, and contains `name`. `root` is the root of the syntax tree.
    """

    start: int
    end: int
    node: "Node"
    name: "Node"
    root: "Node"
    leading: LeadingLines


@dataclass(frozen=True, slots=True)
class Extracted:
    """The items of a file, in order of position, and its references.

    `definitions` has one entry for each item. `errors` states that the file has syntax errors.
    """

    items: list[Item]
    definitions: list[Definition]
    references: FileReferences
    errors: bool


def extract(language: Language, source: bytes, path: str, lines: Lines) -> Extracted:
    """Return the items of `source`, in order of position, and its references.

    Syntax errors are tolerated. Raises `TooMuchError` for a file that exceeds a limit of
    `languages.limits`.
    """
    captures = _Captures(language, source)
    captures.read()
    ordered = sorted(
        captures.definitions.values(),
        key=lambda found: (found.start, -found.end, found.node.start_byte),
    )
    prefix = language.prefix(path, captures.package)
    builder = _Builder(language, source, lines, prefix, sorted(set(captures.attached)))
    for definition in ordered:
        builder.add(definition)
    references = captures.collector.finish(builder.items, lines)
    return Extracted(builder.items, builder.definitions, references, captures.errors)


class _Captures:
    """The captures of a language's query in a file, including those inside of macros."""

    def __init__(self, language: Language, source: bytes) -> None:
        self.definitions: dict[tuple[int, int], _Definition] = {}
        self.attached: list[CommentOrAttribute] = []
        self.package = ""
        self.collector = Collector(language, source)
        self.errors = False
        self._language = language
        self._source = source
        self._embedded: list[Range] = []

    def read(self) -> None:
        parser = self._language.parser()
        self._query(parse_in_time(parser, self._source).root_node)
        for _ in range(_MAX_EMBEDDING):
            if not self._embedded:
                break
            parser.included_ranges = self._embedded
            self._embedded = []
            self._query(parse_in_time(parser, self._source).root_node)

    def _query(self, root: "Node") -> None:
        import tree_sitter

        self.errors = self.errors or root.has_error
        limit_errors(root)
        cursor = tree_sitter.QueryCursor(self._language.query)
        cursor.set_max_start_depth(_MAX_DEPTH)
        first_reference = self._language.item_patterns
        read_reference = self.collector.read
        for pattern, captures in cursor.matches(root):
            if pattern >= first_reference:
                read_reference(captures)
                continue
            captured = {name: nodes[0] for name, nodes in captures.items()}
            if "name" in captured:
                self._define(pattern, captured, root)
            elif "skip" in captured:
                continue
            elif (node := captured.get("package")) is not None:
                self.package = self.package or text_of(node)
            elif (node := captured.get("embedded")) is not None:
                self._embed(node)
            else:
                comment = captured.get("comment")
                node = comment or captured["attribute"]
                if comment is not None and comment.child_by_field_name("inner") is not None:
                    continue  # in Rust `//!` documents the enclosing file or module
                end = _content_end(self._source, node)
                self.attached.append(CommentOrAttribute(node.start_byte, end, comment is not None))

    def _define(self, pattern: int, captured: "dict[str, Node]", root: "Node") -> None:
        """Add the definition of a match, or extend the known definition of the same node.

        The definition has the kind of its first pattern in the query, and the widest range.
        """
        self.collector.defines(captured["name"])
        label, node = next((name, node) for name, node in captured.items() if name in _KINDS)
        outer = captured.get("range", node)
        end = _content_end(self._source, _with_heredocs(captured.get("below", outer)))
        key = (node.start_byte, node.end_byte)
        known = self.definitions.get(key)
        if known is None:
            limit_items(len(self.definitions))
            naming = self._language.naming(captured["name"], captured)
            if 0 < len(naming.name) <= _MAX_NAME:
                self.definitions[key] = _Definition(
                    node,
                    captured["name"],
                    root,
                    _KINDS[label],
                    naming,
                    outer.start_byte,
                    end,
                    pattern,
                )
            return
        known.start = min(known.start, outer.start_byte)
        known.end = max(known.end, end)
        if pattern < known.pattern:
            known.kind, known.pattern = _KINDS[label], pattern

    def _embed(self, node: "Node") -> None:
        """Remember the inside of a braced token tree, which is parsed as code later."""
        import tree_sitter

        first, last = node.child(0), node.child(node.child_count - 1)
        if first is None or last is None or (first.type, last.type) != ("{", "}"):
            return
        self._embedded.append(
            tree_sitter.Range(first.end_point, last.start_point, first.end_byte, last.start_byte)
        )


def _first_named(node: "Node | None") -> "Node | None":
    return node.named_child(0) if node is not None and node.named_child_count else None


def _encloses(outer: _Definition, inner: _Definition) -> bool:
    """Whether `outer` encloses `inner`, and the two are not names in the same declaration."""
    same = (outer.start, outer.end) == (inner.start, inner.end)
    return not same and outer.node.start_byte <= inner.node.start_byte


def _body(node: "Node") -> "Node | None":
    """Return the body of a function or type, or None.

    The body may belong to the node, to its value, or to a function that the value wraps.
    """
    value = node.child_by_field_name("value")
    for holder in (node, value, _first_named((value or node).child_by_field_name("arguments"))):
        body = holder.child_by_field_name("body") if holder is not None else None
        if body is not None:
            return body
    return None


def _with_heredocs(node: "Node") -> "Node":
    """Return the last Ruby heredoc that begins in `node` and continues below it, or else `node`."""
    while (below := node.next_sibling) is not None and below.type == "heredoc_body":
        node = below
    return node


def _content_end(source: bytes, node: "Node") -> int:
    """Return the end of a node without trailing white space, which some grammars include."""
    end = node.end_byte
    while end > node.start_byte and source[end - 1] in b" \t\r\n":
        end -= 1
    return end


class _Builder:
    """Builds items with parents and canonical paths from definitions in order of position."""

    def __init__(
        self,
        language: Language,
        source: bytes,
        lines: Lines,
        prefix: str,
        attached: list[CommentOrAttribute],
    ) -> None:
        self.items: list[Item] = []
        self.definitions: list[Definition] = []
        self._language = language
        self._source = source
        self._lines = lines
        self._prefix = prefix
        self._attached = attached
        self._attached_ends = [attachment.end for attachment in attached]
        self._top = top_of_file(
            source, [attachment[:2] for attachment in attached if attachment.is_comment]
        )
        self._open: list[tuple[int, _Definition]] = []
        """The positions and definitions of the enclosing items."""

    def add(self, definition: _Definition) -> None:
        node = definition.node
        while self._open and self._open[-1][1].node.end_byte < max(
            node.end_byte, node.start_byte + 1
        ):
            self._open.pop()
        around = [position for position, outer in self._open if _encloses(outer, definition)]
        parent = around[-1] if around else None
        above = self.items[parent] if parent is not None else None
        inside_function = any(self.items[position].kind in FUNCTION_KINDS for position in around)
        is_local = self._language.local_functions and definition.kind in FUNCTION_KINDS
        if inside_function and node.type in self._language.top_level_only and not is_local:
            return
        if len(self._open) >= _MAX_NESTING:
            return
        kind = definition.kind
        scopes = definition.naming.scopes
        in_type = above is not None and above.kind in TYPE_KINDS
        if kind is Kind.FUNCTION and (in_type or (scopes and self._language.separator == "::")):
            kind = Kind.METHOD
        lead = self._leading(definition.start, above.start_byte if above else 0)
        start = lead.start
        base = above.canonical_path if above else self._prefix
        path = self._separator(kind, in_type=in_type).join(
            part for part in (base, *scopes, definition.naming.name) if part
        )
        head, tail = self._signature(definition)
        self.items.append(
            Item(
                name=definition.naming.name,
                canonical_path=path,
                kind=kind,
                parent=parent,
                start_byte=start,
                end_byte=definition.end,
                start_line=self._lines.of(start),
                end_line=self._lines.of(max(start, definition.end - 1)),
                signature_start=head,
                signature_end=tail,
                doc=self._doc(definition, start),
            )
        )
        self.definitions.append(
            Definition(
                definition.start, definition.end, node, definition.name, definition.root, lead
            )
        )
        self._open.append((len(self.items) - 1, definition))

    def _separator(self, kind: Kind, *, in_type: bool) -> str:
        own = self._language.member_separator
        member = kind in FUNCTION_KINDS or (kind is Kind.CONSTANT and own == "::")
        return own if own and in_type and member else self._language.separator

    def _leading(self, start: int, limit: int) -> LeadingLines:
        """Return the comments and attributes right above `start`, but not before `limit`.

        A blank line ends these comments. A comment after other code on its line belongs to that
        code, unless the code is an attribute of the same item.
        """
        position = bisect_right(self._attached_ends, start) - 1
        first = start
        attached_above: list[CommentOrAttribute] = []
        while position >= 0:
            attachment = self._attached[position]
            between = self._source[attachment.end : first]
            if attachment.start < limit or between.strip() or between.count(b"\n") > 1:
                break
            if attachment.is_comment and self._is_behind_code(position):
                break
            first = attachment.start
            attached_above.append(attachment)
            position -= 1
        return leading(self._source, attached_above[::-1], start, self._top)

    def _is_behind_code(self, position: int) -> bool:
        start = self._attached[position].start
        before = self._attached[position - 1] if position else None
        line_start = self._lines.starts[self._lines.of(start) - 1]
        if before is not None and not before.is_comment:
            line_start = max(line_start, before.end)
        return bool(self._source[line_start:start].strip())

    def _signature(self, definition: _Definition) -> tuple[int, int]:
        """Return the byte range from the definition to its body.

        Without a body, the signature of a function is the whole definition. The signature of any
        other item without a body is its first line.
        """
        node = definition.node
        start, end = node.start_byte, node.end_byte
        if node.id == definition.name.id:  # one of several names that share a declaration
            start, end = definition.start, definition.end
        body = _body(node)
        if body is not None and body.start_byte > start:
            end = body.start_byte
        elif definition.kind not in FUNCTION_KINDS:
            line_end = self._source.find(b"\n", start, end)
            end = end if line_end < 0 else line_end
        return start, start + len(self._source[start:end].rstrip())

    def _doc(self, definition: _Definition, start: int) -> str:
        doc = self._source[start : definition.start].decode("utf-8", "replace")
        if self._language.doc_in_body:
            body = definition.node.child_by_field_name("body")
            inner = _first_named(_first_named(body))
            if inner is not None and inner.type == "string":
                doc = f"{doc}\n{text_of(inner)}" if doc else text_of(inner)
        return doc
