"""Converts edit requests to a plan. Raises EditError if any edit cannot be located."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import assert_never

from treadle.charsets import (
    UTF_8,
    Charset,
    Configured,
    ShiftStateError,
    Transcoded,
    charset_of,
    charset_of_new,
    configured_charset,
    declared_label,
)
from treadle.edits.hunks import rehunk
from treadle.edits.model import (
    ChangeKind,
    EditError,
    FileChange,
    Hunk,
    Plan,
    content_hash,
    splice,
)
from treadle.edits.requests import (
    CreateFile,
    DeleteFile,
    EditRequest,
    LineRangeEdit,
    PatchEdit,
    RangeEdit,
    RenameFile,
    ReplaceEdit,
)
from treadle.edits.text import BOM, Source, encode_utf8, with_plain_ends
from treadle.edits.text_edits import (
    TextEdit,
    changes_nothing,
    edit_text,
    locate_errors,
    placeholder_note,
    refuse_replacement,
    writable,
)
from treadle.events.types import ErrorKind

Read = Callable[[str], bytes | None]
"""Returns the content of the file at a path, or None if there is no file."""


@dataclass(slots=True)
class _File:
    """The requests for one path, each with its index in the call."""

    path: str
    edits: list[tuple[int, TextEdit]] = field(default_factory=list)
    whole: tuple[int, CreateFile | DeleteFile] | None = None
    rename: tuple[int, RenameFile] | None = None


def plan(requests: Sequence[EditRequest], read: Read) -> Plan:
    """Convert `requests` to a plan. Each edit is matched against the original file.

    Raises EditError when an edit cannot be made or changes nothing, or when it overlaps or
    contradicts another edit. The error has the path and the number of the edit.
    """
    files = _by_file(requests)
    _check_targets(files, read)
    notes: list[str] = []
    changes: list[FileChange] = []
    for file in files.values():
        with locate_errors(file.path):
            changes.append(_change(file, read, notes))
    _check_folders(changes)
    if not changes:
        raise EditError(
            ErrorKind.VALIDATION, "The call has no edits.", hint="Give at least one edit."
        )
    return Plan(tuple(changes), tuple(notes))


def _by_file(requests: Sequence[EditRequest]) -> dict[str, _File]:
    """The requests by path, in the order in which paths are first named."""
    files: dict[str, _File] = {}
    for number, request in enumerate(requests):
        file = files.setdefault(request.path, _File(request.path))
        match request:
            case CreateFile() | DeleteFile():
                if file.whole or file.edits or file.rename:
                    raise _senseless(file, number)
                file.whole = (number, request)
            case RenameFile():
                if file.whole or file.rename:
                    raise _senseless(file, number)
                file.rename = (number, request)
            case ReplaceEdit() | RangeEdit() | LineRangeEdit() | PatchEdit():
                if file.whole:
                    raise _senseless(file, number)
                file.edits.append((number, request))
            case _:
                assert_never(request)
    return files


def _senseless(file: _File, number: int) -> EditError:
    parts = [each[0] for each in (file.whole, file.rename, *file.edits[:1]) if each is not None]
    return EditError(
        ErrorKind.VALIDATION,
        f"edits[{number}] conflicts with edits[{parts[0]}]: {file.path} can be created, deleted "
        "or renamed only once, and only an existing file can be edited.",
        path=file.path,
        number=number,
        hint="Give the whole content of a new file, and delete a file without editing it.",
    )


def _check_targets(files: dict[str, _File], read: Read) -> None:
    """Refuse a rename onto a path where a file exists or is created."""
    targets: set[str] = set()
    for file in files.values():
        if file.rename is None:
            continue
        number, rename = file.rename
        if rename.target == file.path:
            what = "that is already its path"
        elif rename.target in files or rename.target in targets:
            what = "another edit of the same call uses that path"
        elif read(rename.target) is not None:
            what = "a file already exists there"
        else:
            targets.add(rename.target)
            continue
        raise EditError(
            ErrorKind.CONFLICT,
            f"{file.path} cannot be renamed to {rename.target}: {what}.",
            path=file.path,
            number=number,
            hint="Choose another path, or do it in two steps.",
        )


def _check_folders(changes: Sequence[FileChange]) -> None:
    """Refuse a plan in which one path is both a file and a folder."""
    files = {
        change.target or change.path for change in changes if change.kind is not ChangeKind.DELETE
    }
    for path in files:
        for folder in map(str, PurePosixPath(path).parents):
            if folder in files:
                raise EditError(
                    ErrorKind.VALIDATION,
                    f"{folder} cannot be both a file and, for {path}, a folder.",
                    path=path,
                    hint="Choose another path for one of them.",
                )


def _change(file: _File, read: Read, notes: list[str]) -> FileChange:
    data = read(file.path)
    configured = _configured(file.path, read)
    if file.whole is not None:
        number, request = file.whole
        with locate_errors(file.path, number):
            if isinstance(request, CreateFile):
                return _create(request, data, configured, notes)
            return _delete(request, data, configured)
    if data is None:
        number = file.rename[0] if file.rename else file.edits[0][0]
        with locate_errors(file.path, number):
            raise _missing(file.path)
    base = content_hash(data)
    for number, edit in (*file.edits, *([file.rename] if file.rename else [])):
        with locate_errors(file.path, number):
            _check_hash(edit, base)
    kind, target = ChangeKind.MODIFY, None
    if file.rename is not None:
        kind, target = ChangeKind.RENAME, file.rename[1].target
    if not file.edits:
        return FileChange(file.path, kind, base, base, (), target)
    charset, hunks = _in_its_encoding(file, data, configured, notes)
    result = content_hash(splice(data, hunks))
    return FileChange(file.path, kind, base, result, hunks, target, charset.stored)


def _configured(path: str, read: Read) -> Configured:
    """A function that returns the encoding that .editorconfig files set for `path`."""

    def read_file(name: str) -> bytes | None:
        try:
            return read(name)
        except EditError:  # a link, or not a regular file
            return None

    return lambda: configured_charset(path, read_file)


def _in_its_encoding(
    file: _File, data: bytes, configured: Configured, notes: list[str]
) -> tuple[Charset, tuple[Hunk, ...]]:
    """The encoding of the file, and the hunks of all its edits.

    A file that contains only ASCII takes the encoding that an edit declares.
    """
    charset = charset_of(file.path, data, configured)
    new_notes = list(notes)
    hunks = edit_text(file.path, file.edits, data, charset, new_notes)
    result = splice(data, hunks)
    label = declared_label(file.path, result)
    if label != declared_label(file.path, data) and not result.isascii():
        if data.isascii():
            text = result.decode(charset.codec or "ascii")
            charset = charset_of_new(file.path, text, configured)
            new_notes = list(notes)
            hunks = edit_text(file.path, file.edits, data, charset, new_notes)
        elif label is not None and charset_of(file.path, result).codec != charset.codec:
            raise EditError(
                ErrorKind.VALIDATION,
                f"The edit declares the encoding {label!r}, but {file.path} has text in "
                f"{charset.name}, which no program could then decode.",
                hint=(
                    "Keep the declaration unchanged, or replace the whole file with `create_file`."
                ),
            )
    notes[:] = new_notes + ([f"{file.path}: {charset.note}"] if charset.note else [])
    return charset, hunks


def _missing(path: str) -> EditError:
    return EditError(
        ErrorKind.NOT_FOUND,
        f"There is no file {path}.",
        hint="Check its path, or create it.",
    )


def _check_hash(request: TextEdit | DeleteFile | RenameFile, present: str) -> None:
    if request.expected_hash is not None and request.expected_hash != present:
        raise EditError(
            ErrorKind.CONFLICT,
            f"{request.path} has changed since it was read: its hash is now {present}.",
            expected=request.expected_hash,
            received=present,
            hint="Read it again, and base the edit on its current text.",
        )


def _create(
    request: CreateFile, data: bytes | None, configured: Configured, notes: list[str]
) -> FileChange:
    if data is None:
        return create_file(request.path, request.content, configured)
    if not request.overwrite:
        raise EditError(
            ErrorKind.CONFLICT,
            f"{request.path} already exists.",
            received=content_hash(data),
            hint="Edit it, or request that it is overwritten.",
        )
    refuse_replacement(Source(request.path, data), request.content)
    change, note = overwrite_file(request.path, data, request.content, configured)
    if not change.hunks:
        raise changes_nothing(request.path)
    notes += note
    if left_out := placeholder_note(request.path, data, request.content.encode(errors="replace")):
        notes.append(left_out)
    return change


def _delete(request: DeleteFile, data: bytes | None, configured: Configured) -> FileChange:
    if data is None:
        raise _missing(request.path)
    base = content_hash(data)
    _check_hash(request, base)
    charset = charset_of(request.path, data, configured)
    if request.content is not None and not _is_content(data, request.content, charset):
        raise EditError(
            ErrorKind.CONFLICT,
            f"The patch deletes {request.path}, but the file differs from the lines that the "
            "patch removes.",
            hint="Read it again and remove all of its lines, or delete it by name.",
        )
    hunk = Hunk(0, 1, data, b"")
    return FileChange(request.path, ChangeKind.DELETE, base, None, (hunk,), encoding=charset.stored)


def _is_content(data: bytes, content: str, charset: Charset) -> bool:
    """Whether `content`, which a patch states, is the content of the file.

    Differences in line ends, and in bytes that cannot be decoded, are ignored.
    """
    there = with_plain_ends(data.removeprefix(BOM)).removesuffix(b"\n")
    forms = {there, there.decode(errors="replace").encode()}
    if charset.stored is not None:
        with suppress(ShiftStateError):
            forms.add(Transcoded(there, charset).text)
    stated = with_plain_ends(encode_utf8(content, "The patch")).removesuffix(b"\n")
    return stated.removeprefix(BOM) in forms


def create_file(path: str, content: str, configured: Configured) -> FileChange:
    """The change that creates a file with `content`, in the encoding that the content declares.

    Raises EditError when the content cannot be encoded.
    """
    charset = charset_of_new(path, content, configured)
    data = _encode_content(charset, content, path)
    hunk = Hunk(0, 1, b"", data)
    return FileChange(
        path, ChangeKind.CREATE, None, content_hash(data), (hunk,), encoding=charset.stored
    )


def overwrite_file(
    path: str, base: bytes, content: str, configured: Configured
) -> tuple[FileChange, list[str]]:
    """The change that replaces the whole content of a file, and notes on the change.

    The encoding stays, unless the old or the new content declares an encoding. A byte order mark
    stays. CRLF stays if all lines end with CRLF. Raises EditError for a binary file, and when the
    content cannot be encoded.
    """
    Source(path, base).check()
    charset, notes = _kept_charset(path, base, content, configured)
    data = _encode_content(charset, content, path)
    if base.startswith(BOM) and charset.is_utf8 and not data.startswith(BOM):
        data = BOM + data
        notes.append(f"{path}: its byte order mark was kept.")
    crlf = base.count(b"\r\n")
    if crlf and crlf == base.count(b"\n") == base.count(b"\r") and b"\r" not in data:
        data = data.replace(b"\n", b"\r\n")
        notes.append(f"{path}: its line ends, CRLF, were kept.")
    return replace(rehunk(path, base, data), encoding=charset.stored), notes


def _kept_charset(
    path: str, base: bytes, content: str, configured: Configured
) -> tuple[Charset, list[str]]:
    before = charset_of(path, base, configured)
    declares = declared_label(path, base), declared_label(path, content.encode("utf-8", "replace"))
    if declares != (None, None):
        return charset_of_new(path, content, configured), []
    if before.codec is None:
        return UTF_8, [f"{path}: it is UTF-8 now; its earlier encoding was unknown."]
    if before.is_utf8 or content.isascii():
        return before, []
    return before, [f"{path}: it is written in its existing encoding, {before.name}."]


def _encode_content(charset: Charset, content: str, path: str) -> bytes:
    encode_utf8(content, "The content")  # raises for invalid text
    if charset.is_utf8:
        return content.encode()
    return writable(charset, content, "The content", path).encode(charset.codec or "ascii")
