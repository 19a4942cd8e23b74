"""Properties of an edit of any item of any file."""

from collections import Counter
from dataclasses import dataclass, field

from treadle.code.item_edits.editable import EditableFile, EditableItem, NotEditableError
from treadle.edits.model import EditError, splice
from treadle.edits.plan import plan
from treadle.edits.requests import RangeEdit
from treadle.errors import TreadleError
from treadle.toolbox.edits.item_ranges import exact_edit

_NOTHING = "changes nothing"
_UNREADABLE = "encoding is not certain"


@dataclass
class Tally:
    """The number of edits, and why others were refused."""

    made: int = 0
    refused: Counter[str] = field(default_factory=Counter)

    def refuse(self, error: TreadleError) -> None:
        self.refused[error.message.partition(")")[2][:50] or error.message] += 1


def text_of(data: bytes) -> str | None:
    """The text of `data` as a model writes it; None if it is not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def made(data: bytes, request: RangeEdit) -> bytes:
    """The file after the edit. Raises EditError."""
    (change,) = plan([request], lambda _path: data).changes
    return splice(data, change.hunks)


def check_own_code_changes_nothing(file: EditableFile, entry: EditableItem, tally: Tally) -> None:
    """Replacing an item by its own code changes nothing, with or without its comments."""
    item = entry.item
    for start in {item.start_byte, entry.start}:
        code = text_of(file.data[start : entry.end])
        if code is None:
            return
        try:
            after = made(file.data, exact_edit(file, entry, code))
        except NotEditableError as error:
            tally.refuse(error)
            return
        except EditError as error:
            if _UNREADABLE in error.message:
                return
            if _NOTHING not in error.message:
                raise
            after = file.data
        assert after == file.data, f"{file.path}: {entry} is not its own code"
        tally.made += 1


def check_deletion(file: EditableFile, entry: EditableItem, tally: Tally) -> None:
    """Deleting an item keeps all other items, and inserting the text again restores the file."""
    data = file.data
    try:
        request = exact_edit(file, entry, "")
        after = made(data, request)
    except NotEditableError as error:
        tally.refuse(error)
        return
    except EditError as error:
        if _UNREADABLE not in error.message:
            raise
        return
    tally.made += 1
    new = after[request.start : request.end + len(after) - len(data)]
    assert data[: request.start] + new + data[request.end :] == after
    above = data[request.start : entry.item.start_byte]
    behind = data[entry.end : request.end]
    for outside in (above, behind):
        assert not outside.replace(new, b"", 1).strip(b" \t\r\n,;"), f"{entry}: {outside!r}"
    kept: dict[tuple[str, str], list[bytes]] = {}
    for each in EditableFile(file.path, after).entries:
        kept.setdefault(_name(each), []).append(after[each.start : each.end])
    for each in file.entries:
        if each.end <= entry.start or each.start >= entry.end:
            code = data[each.start : each.end]
            found = any(code in text for text in kept.get(_name(each), ()))
            assert found, f"{file.path}: deleting {entry} changes {each}"
    gone = text_of(data[request.start : request.end])
    if gone is not None and b"\r" not in data:
        again = RangeEdit(file.path, request.start, request.start + len(new), gone)
        assert made(after, again) == data


def _name(entry: EditableItem) -> tuple[str, str]:
    return (entry.item.kind, entry.item.canonical_path)
