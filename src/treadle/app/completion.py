"""Completes the names of files, folders and items of the index."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from treadle.code import CodeIndex
from treadle.code.model import FoundItem
from treadle.session.attachments import CodeAttachment, ItemAttachment

FOLDER = "folder"
FILE = "file"
_LINES = re.compile(r"(?P<path>.+):(?P<first>\d{1,9})(?:-(?P<last>\d{0,9}))?")


@dataclass(frozen=True, slots=True)
class Completion:
    """A file, a folder or an item whose name matches the text that a person typed.

    `name` is a path or a canonical path. A folder ends with a slash and has no attachment. `kind`
    is "file", "folder" or the kind of the item. `place` is the file and the lines of an item.
    """

    name: str
    kind: str
    place: str = ""
    attachment: CodeAttachment | ItemAttachment | None = None


def complete(index: CodeIndex, typed: str, *, limit: int = 30) -> Sequence[Completion]:
    """Return the completions of a name, best first.

    The name is a path, or the name or the canonical path of an item. A path may end with lines such
    as `:10-40`. Paths and items alternate. If the name has a slash, there are only paths.
    """
    paths = index.paths()
    if (lines := _lines_of(typed, paths)) is not None:
        return [lines]
    files = [_path(path) for path in _matching(typed, paths, limit)]
    if "/" in typed:
        return files
    items = _items(index.names(typed, limit=limit))
    if not typed:
        return files
    merged = [each for pair in zip(items, files, strict=False) for each in pair]
    both = min(len(items), len(files))
    return [*merged, *items[both:], *files[both:]][:limit]


def _lines_of(typed: str, paths: Iterable[str]) -> Completion | None:
    """Return the lines of a file if the name is a known path with lines. Otherwise return None."""
    found = _LINES.fullmatch(typed)
    if found is None or found["path"] not in set(paths):
        return None
    first = max(1, int(found["first"]))
    last = int(found["last"]) if found["last"] else None
    if last is not None and last < first:
        return None
    end = first if found["last"] is None else last
    attachment = CodeAttachment(found["path"], first, end)
    return Completion(str(attachment), "lines", attachment=attachment)


def _path(path: str) -> Completion:
    if path.endswith("/"):
        return Completion(path, FOLDER)
    return Completion(path, FILE, attachment=CodeAttachment(path))


def _items(found: Iterable[FoundItem]) -> list[Completion]:
    """Return one completion for each pair of a canonical path and a file."""
    return [
        Completion(
            item.canonical_path,
            item.kind,
            f"{item.file}:{item.start_line}-{item.end_line}",
            ItemAttachment(item.canonical_path, item.file),
        )
        for item in {(item.canonical_path, item.file): item for item in found}.values()
    ]


def _matching(typed: str, paths: Iterable[str], limit: int) -> list[str]:
    """Return the files and folders that match a name, best first."""
    wanted = typed.lower()
    scored = []
    for path in dict.fromkeys(_with_folders(paths)):
        rank = _rank(wanted, path.lower())
        if rank is not None:
            scored.append((rank, path.count("/"), len(path), path))
    return [path for *_, path in sorted(scored)[:limit]]


def _with_folders(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        at = path.find("/")
        while at >= 0:
            yield path[: at + 1]
            at = path.find("/", at + 1)
        yield path


def _rank(wanted: str, path: str) -> int | None:
    """Return how well a path matches: 0 is best, and None means that it does not match."""
    name = path.rstrip("/").rpartition("/")[2]
    if path == wanted:
        return 0
    if path.startswith(wanted):
        return 1
    if name.startswith(wanted):
        return 2
    if wanted in name:
        return 3
    return 4 if wanted in path else None
