"""Items of one file that an edit can name, with their exact bytes.

An edit of an item changes nothing else in the file. Some items cannot be edited exactly, and an
edit of them is refused with a reason. These are items with syntax errors, items that overlap
another item, and names whose values cannot be separated.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from treadle.code.item_edits.declarations import (
    DeclarationList,
    declarators,
    find_declaration_list,
    gets_other_value,
    json_cut,
)
from treadle.code.languages import Language, Outline, language_of
from treadle.code.languages.comments import comment_markers, is_plain_comment
from treadle.code.languages.limits import TooMuchError, nested_too_deep
from treadle.code.model import FUNCTION_KINDS, Item, Kind
from treadle.code.parse.items import Definition, extract
from treadle.code.parse.outlines import outlined
from treadle.code.retrieval.lookup import meant
from treadle.code.text import Lines
from treadle.errors import TreadleError

if TYPE_CHECKING:
    from tree_sitter import Node

_USE_TEXT = "Use `replace` with the exact text, or `lines`."
_SHOWN = 60
_COMMENTS_ARE_DOCS = frozenset({"go"})
_FLAT = frozenset({"c", "cpp"})
"""Languages without nested functions.

If a function seems to be nested and begins a line, the grammar has misread the file.
"""


_PREPROCESSED = frozenset({"c", "cpp", "objc", "csharp"})
_CONDITIONAL = re.compile(
    rb"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif\w*|else|endif|region|endregion)\b", re.MULTILINE
)
_HEREDOC = re.compile(rb"<<[~-]?[\"'`]?[A-Z_a-z]")
_WORDS_BEFORE = ((), ("export",), ("export", "declare"), ("declare",))


class NotEditableError(TreadleError):
    """An item cannot be edited by its name. The message states the reason."""


@dataclass(frozen=True, slots=True)
class EditableItem:
    """An item that an edit can name.

    `start` to `end` is the range of the item without plain comments, which are comments other than
    doc comments. `item` has the range with plain comments. `definition` is None for a part of a
    text without a grammar.
    """

    item: Item
    start: int
    end: int
    definition: Definition | None = None

    def __str__(self) -> str:
        item = self.item
        return f"{item.kind} {item.canonical_path} (lines {item.start_line}-{item.end_line})"


@dataclass(frozen=True, slots=True)
class ItemEdit:
    """An edit that replaces bytes `start` to `end` with `code`.

    `is_item` states that the range is the range of the item, so the code may be indented like the
    item. `note` is a sentence for the model about text that the edit keeps. `siblings` is the list
    that has the item as an element. No other element of this list may change.
    """

    start: int
    end: int
    code: str
    is_item: bool = True
    note: str = ""
    siblings: DeclarationList | None = None


class EditableFile:
    """The items of the file at `path`, whose content is `data`."""

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.data = data
        self.language = language_of(path, data)

    @cached_property
    def entries(self) -> tuple[EditableItem, ...]:
        """All items in order. Raises NotEditableError for a file without a grammar."""
        path = self.path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        lines = Lines(self.data)
        try:
            if isinstance(self.language, Outline):
                items, _ = outlined(self.language, self.data, path, lines)
                return tuple(EditableItem(i, i.signature_start, i.end_byte) for i in items)
            if isinstance(self.language, Language) and not nested_too_deep(self.data):
                found = extract(self.language, self.data, path, lines)
                return tuple(
                    EditableItem(item, definition.leading.own_start, definition.end, definition)
                    for item, definition in zip(found.items, found.definitions, strict=True)
                )
        except TooMuchError:
            pass
        raise NotEditableError(
            f"No grammar reads {self.path}, so its items cannot be edited.", hint=_USE_TEXT
        )

    def meant(self, name: str, kind: str | None, *, any_case: bool = False) -> list[EditableItem]:
        """Return the items that `name` may mean, limited to `kind` unless it is None."""
        fitting = [entry for entry in self.entries if kind is None or entry.item.kind == kind]
        chosen = {
            id(item) for item in meant(name, [entry.item for entry in fitting], any_case=any_case)
        }
        return [entry for entry in fitting if id(entry.item) in chosen]

    def is_file(self, name: str) -> bool:
        """Whether `name` names the file itself, by its path, file name or module name."""
        stem = self.path.rpartition("/")[2].partition(".")[0]
        names = {self.path, self.path.rpartition("/")[2], self.path.rpartition(".")[0], stem}
        if isinstance(self.language, Language):
            names.add(self.language.prefix(self.path, ""))
        return name.strip() in names

    def edits(self, entry: EditableItem, code: str) -> Iterator[ItemEdit]:
        """Yield the possible edits that turn the item into `code`, best first.

        Raises NotEditableError if no edit is possible.
        """
        self._check_sound(entry)
        self._check_overlaps(entry)
        if self.language is not None and self.language.name == "notebook":
            raise NotEditableError(
                f"{entry} is a cell of a notebook, whose text is JSON in the file.",
                hint="Use `replace` with the text as it is in the file, quotes and escapes "
                "included.",
            )
        code = self._without_file_lines(entry, code)
        definition = entry.definition
        if definition is not None:
            code = self._sharing(entry, definition, code)
        found = find_declaration_list(definition, self.data) if definition is not None else None
        exact = (
            found is not None
            and definition is not None
            and found.own == (definition.start, definition.end)
        )
        if found is not None and not exact:
            yield from self._of_list(entry, found, code)
        elif not code.strip():
            yield self._removal(entry, found)
        else:
            if found is not None and found.shares:
                code = self._alone(found, code) or code
            is_json = self.language is not None and self.language.name == "json"
            yield self._replacement(entry, code, in_list=found is not None or is_json)

    def _sharing(self, entry: EditableItem, definition: Definition, code: str) -> str:
        """Return `code` without the variables after a C type.

        Raises NotEditableError if other names would lose their type or get another value.
        """
        other = gets_other_value(definition, self.data, code)
        if other is not None:
            raise NotEditableError(
                f"{entry} was not changed, since the value of `{other}` depends on its value or "
                "its position.",
                hint="Use `replace` or `lines`, with a value for each constant that needs one.",
            )
        variables = declarators(definition)
        if variables is None:
            return code
        names = _text(self.data[slice(*variables)])
        text = code.rstrip().removesuffix(";").rstrip()
        text = text.removesuffix(names).rstrip()
        if not text.endswith("}"):
            raise NotEditableError(
                f"{entry} is the type of `{names[:_SHOWN]}`, which is declared together with it.",
                hint=_USE_TEXT,
            )
        return text

    def _without_file_lines(self, entry: EditableItem, code: str) -> str:
        """Return `code` without a copy of the file's header lines, if it begins with one."""
        if entry.definition is None:
            return code
        tag = b"<?php"
        if code.lstrip().startswith(tag.decode()) and self.data.lstrip(b"\xef\xbb\xbf \r\n") \
                .startswith(tag):  # fmt: skip
            code = code.lstrip().removeprefix(tag.decode()).lstrip("\r\n")
        start, end = entry.definition.leading.file_lines
        above = _text(self.data[start:end])
        if above and code.lstrip().replace("\r\n", "\n").startswith(f"{above}\n"):
            code = code.lstrip().replace("\r\n", "\n").removeprefix(above).lstrip("\n")
        return code

    def _replacement(self, entry: EditableItem, code: str, *, in_list: bool = False) -> ItemEdit:
        start, end, note = entry.start, entry.end, ""
        comments = self.data[entry.item.start_byte : entry.start]
        if comments.strip():
            if is_plain_comment(
                code.lstrip().encode("utf-8", "replace"), comment_markers(comments)
            ):
                start = entry.item.start_byte
            else:
                note = self._kept(entry, "the code has none of its own")
        if entry.item.kind is Kind.SECTION:
            nested = self._nested_sections(entry, code)
            if nested is not None:
                end = entry.start + len(self.data[entry.start : nested].rstrip())
                note = f"The subsections of {entry.item.name} were kept, since the text has none."
        for sign in (";", ","):
            if self.data[entry.start : end].rstrip().endswith(sign.encode()):
                continue
            doubled = self.data[end:].lstrip(b" \t").startswith(sign.encode())
            if doubled or (in_list and sign == ","):
                stripped = code.rstrip()
                code = stripped.removesuffix(sign) if stripped.endswith(sign) else code
        return ItemEdit(start, end, code, note=note)

    def _nested_sections(self, entry: EditableItem, code: str) -> int | None:
        """Return the start of the subsections if the new text has no subsections, or else None."""
        nested = next((each for each in self.entries if entry.start < each.start < entry.end), None)
        if nested is None or not isinstance(self.language, Outline):
            return None
        text = code.encode("utf-8", "replace")
        written, _ = outlined(self.language, text, "", Lines(text))
        return nested.item.start_byte if len(written) <= 1 else None

    def _removal(self, entry: EditableItem, found: DeclarationList | None) -> ItemEdit:
        start = entry.start
        plain = self.data[entry.item.start_byte : start].strip()
        if plain and self.language is not None and self.language.name in _COMMENTS_ARE_DOCS:
            start, plain = entry.item.start_byte, b""
        note = (
            self._kept(entry, "remove it with `replace` if it describes the removed item")
            if plain
            else ""
        )
        if entry.item.kind is Kind.SECTION:
            self._check_part(entry)
        if self.language is not None and self.language.name == "json":
            cut_start, cut_end, kept = json_cut(self.data, start, entry.end)
            return ItemEdit(cut_start, cut_end, _text(kept), is_item=False)
        if found is not None:
            if found.cut is None:
                raise NotEditableError(
                    f"{entry} is one of several names that get their values by position, so it "
                    "cannot be removed alone.",
                    hint=_USE_TEXT,
                )
            cut_start, cut_end, kept = found.cut
            return ItemEdit(cut_start, cut_end, _text(kept), is_item=False, note=note)
        end = entry.end
        behind = self.data[end:]
        blanks = len(behind) - len(behind.lstrip(b" \t"))
        if behind[blanks : blanks + 1] == b";" and not self.data[start:end].endswith(b";"):
            rest = behind[blanks + 1 :]
            end += blanks + 1
            if rest.strip(b" \t").split(b"\n")[0].strip():
                end += len(rest) - len(rest.lstrip(b" \t"))
        line_start = self.data.rfind(b"\n", 0, start) + 1
        if not self.data[line_start:start].strip() and self.data[end : end + 1] in b"\r\n":
            start = line_start  # remove the whole line instead of leaving white space
        return ItemEdit(start, end, "", note=note)

    def _check_part(self, entry: EditableItem) -> None:
        """Refuse to remove a section that contains all other sections of its document."""
        sections = [each for each in self.entries if each.item.kind is Kind.SECTION]
        inside = [each for each in sections if entry.start <= each.start < entry.end]
        if len(sections) > 1 and len(inside) == len(sections):
            raise NotEditableError(
                f"{entry} is the whole document {self.path}, with all other sections.",
                hint="Use delete_file to delete the file, or name a smaller section.",
            )

    def _kept(self, entry: EditableItem, why: str) -> str:
        first = entry.item.start_line
        last = first + self.data[entry.item.start_byte : entry.start].rstrip().count(b"\n")
        lines = f"line {first}" if first == last else f"lines {first}-{last}"
        return f"{self.path}: the comment above {entry.item.name} ({lines}) was kept; {why}."

    def _of_list(
        self, entry: EditableItem, found: DeclarationList, code: str
    ) -> Iterator[ItemEdit]:
        """Yield edits of one element of a declaration with several names."""
        remaining = [
            _text(self.data[each.start : each.end])
            for position, each in enumerate(found.elements)
            if position != found.position
        ]
        if not code.strip():
            if found.cut is None:
                raise self._together(entry, found, "it cannot be removed without them")
            start, end, kept = found.cut
            yield ItemEdit(start, end, _text(kept), is_item=False)
            return
        whole = _text(self.data[entry.item.start_byte : entry.end])
        if code.strip() in {whole.strip(), _text(self.data[entry.start : entry.end]).strip()}:
            yield ItemEdit(entry.start, entry.end, _text(self.data[entry.start : entry.end]))
            return
        if not found.separate:
            raise self._together(entry, found, "it cannot be replaced without them")
        if all(other in code for other in remaining) and self._has_prefix(entry, found, code):
            replacement = self._replacement(entry, code)
            yield ItemEdit(
                replacement.start, replacement.end, replacement.code, note=replacement.note,
                siblings=found,
            )  # fmt: skip
        alone = self._alone(found, code)
        if alone is None:
            raise self._together(entry, found, "the code is not one name with its value")
        yield ItemEdit(*found.own, alone, is_item=False, siblings=found)

    def _prefixes(self, found: DeclarationList) -> "list[list[str]]":
        """Return the words that may begin a declaration: its modifiers and its type."""
        words = _text(self.data[found.start : found.elements[0].start]).split()
        return [[*before, *words] for before in _WORDS_BEFORE] if found.shares else []

    def _has_prefix(self, entry: EditableItem, found: DeclarationList, code: str) -> bool:
        prefix = _text(self.data[entry.start : found.elements[0].start]).split()
        return code.split()[: len(prefix)] == prefix

    def _alone(self, found: DeclarationList, code: str) -> str | None:
        """Return the element in `code` without modifiers and type of a declaration, or None."""
        text = code.strip().removesuffix(";").removesuffix(",").rstrip()
        for prefix in self._prefixes(found):
            rest = text
            for word in prefix:
                behind = rest[len(word) : len(word) + 1]
                if not rest.startswith(word) or (word[-1].isalnum() and behind.isalnum()):
                    break
                rest = rest[len(word) :].lstrip()
            else:
                if prefix:
                    return rest or None
        return text or None

    def _together(self, entry: EditableItem, found: DeclarationList, why: str) -> NotEditableError:
        remaining = ", ".join(
            f"`{_text(self.data[each.start : each.end]).strip()[:_SHOWN]}`"
            for position, each in enumerate(found.elements[:8])
            if position != found.position
        )
        return NotEditableError(
            f"{entry} is declared together with {remaining}, and {why}.",
            hint=f"Give only `{entry.item.name}` with its value as `code`, or use `replace`."
            if found.separate
            else _USE_TEXT,
        )

    def _check_sound(self, entry: EditableItem) -> None:
        """Refuse an item whose range is uncertain because of a syntax error."""
        definition = entry.definition
        if definition is None:
            return
        before = self.data[: entry.start].rstrip()
        above = self.data[len(before) : entry.start].count(b"\n") <= 1
        fault = _fault(definition.root, len(before) if above else entry.start, entry.end)
        name = self.language.name if self.language else ""
        if fault is None and name in _PREPROCESSED:
            fault = self._half_conditional(entry)
        if fault is None and name in _FLAT:
            fault = self._misread(entry)
        if fault is None and name == "ruby":
            last = self.data.rfind(b"\n", 0, entry.end) + 1
            opened = _HEREDOC.search(self.data, max(last, entry.start), entry.end)
            fault = opened.start() if opened else None
        if fault is None:
            return
        line = self.data.count(b"\n", 0, fault) + 1
        start = self.data.rfind(b"\n", 0, fault) + 1
        shown = _text(self.data[start : start + 200].split(b"\n")[0]).strip()[:_SHOWN]
        raise NotEditableError(
            f"{entry} has code that the grammar of {name} does not understand (line {line}: "
            f"`{shown}`), so where the item ends is uncertain.",
            hint=_USE_TEXT,
        )

    def _half_conditional(self, entry: EditableItem) -> int | None:
        """Return the position of a preprocessor conditional that is partly in the item, or None."""
        opened: list[int] = []
        for found in _CONDITIONAL.finditer(self.data, entry.start, entry.end):
            word = found[1]
            if word.startswith((b"if", b"region")):
                opened.append(found.start(1))
            elif not opened:
                return found.start(1)
            elif word.startswith(b"end"):
                opened.pop()
        return opened[0] if opened else None

    def _misread(self, entry: EditableItem) -> int | None:
        """Return the start of a function that a parse error puts in another function, or None."""
        if entry.item.kind not in FUNCTION_KINDS:
            return None
        for each in self.entries:
            if (
                entry.start < each.start < entry.end
                and each.item.kind in FUNCTION_KINDS
                and self.data[each.start - 1 : each.start] == b"\n"
            ):
                return each.start
        return None

    def _check_overlaps(self, entry: EditableItem) -> None:
        for each in self.entries:
            if each is entry or each.end <= entry.start or each.start >= entry.end:
                continue
            nested = entry.start <= each.start and each.end <= entry.end
            around = each.start <= entry.start and entry.end <= each.end
            if not nested and not around:
                raise NotEditableError(
                    f"{entry} overlaps {each}, so that neither can be edited by its name.",
                    hint=_USE_TEXT,
                )


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _fault(root: "Node", start: int, end: int) -> int | None:
    """Return the position of the first error or missing token from `start` to `end`, or None."""
    waiting = [root] if root.has_error else []
    while waiting:
        node = waiting.pop()
        if node.end_byte < start or node.start_byte > end:
            continue
        around = (
            node.start_byte < start and node.end_byte > end
        )  # the enclosing error has no exact position
        if node.is_missing or (node.is_error and not around):
            return max(node.start_byte, start)
        waiting += [
            child
            for child in reversed(node.children)
            if child.has_error or child.is_missing or child.is_error
        ]
    return None
