"""Loads instructions: which files there are, in which order, and what fits into a budget.

The order in a prompt is the person's own file, then the files from the root to the nearest folder,
each followed by its imports. The budget is spent differently: the person's own file gets at most
half, and then the nearest folder comes first, since its rules are the most specific.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from treadle.instructions.imports import imports_of, is_outside, is_path, reference_in
from treadle.instructions.model import Instructions, LoadedFile
from treadle.instructions.sources import NAMES, Content, Refusal, RepositoryFiles, read_own
from treadle.tokens import estimate

MAX_DEPTH = 5
"""The maximum depth of imports. A file that the repository's file imports has the depth 1."""
MAX_FILES = 60
"""The maximum number of files of one load."""
MAX_FOLDERS = 200
"""The maximum number of folders that one load examines."""
_LEAST_TOKENS = 40
"""A file with more tokens than are left is left out, if fewer tokens than this are left."""
_CHARACTERS_PER_TOKEN = 12

_OPEN: Callable[[str], bool] = lambda _path: True  # noqa: E731


def load_instructions(
    root: Path | None,
    own_folder: Path | None,
    budget: int,
    *,
    files: Collection[str] = (),
    known: AbstractSet[tuple[str, str]] = frozenset(),
    open_to: Callable[[str], bool] = _OPEN,
) -> Instructions:
    """Load the person's own file, and the files of the root and of the folders of `files`.

    `files` are paths of files or folders relative to `root`. `known` has the path and the digest of
    files that the prompt already contains. They are skipped. Reads files, so it blocks.
    """
    loading = _Loading(known)
    if own_folder is not None:
        loading.add_own(read_own(own_folder))
    if root is not None:
        repository = RepositoryFiles(root, open_to)
        for folder in _folders(files):
            loading.add_folder(repository, folder)
    return loading.within(budget)


def _folders(files: Iterable[str]) -> list[str]:
    """Return the folders from the root to each of `files`, the root first."""
    found = {"": None}
    for file in files:
        parts = PurePosixPath(file).parts
        if not parts or parts[0] == "/" or ".." in parts:
            continue
        for end in range(1, len(parts) + 1):
            if len(found) == MAX_FOLDERS:
                break
            found.setdefault("/".join(parts[:end]))
    return sorted(found, key=lambda folder: (folder.count("/") + bool(folder), folder))


@dataclass(frozen=True, slots=True)
class _Found:
    content: Content | Refusal
    depth: int
    """The number of folders between the root and the file that is not imported."""
    own: bool = False
    imported_by: str | None = None


class _Loading:
    """Collects files, each once, and then cuts them to a budget."""

    def __init__(self, known: AbstractSet[tuple[str, str]]) -> None:
        self._known = known
        self._found: list[_Found] = []
        self._paths: set[str] = set()
        self._digests: set[str] = set()

    def add_own(self, content: Content | Refusal | None) -> None:
        if content is not None:
            self._add(content, 0, own=True)

    def add_folder(self, repository: RepositoryFiles, folder: str) -> None:
        """Add the instruction file of a folder, with its imports."""
        depth = folder.count("/") + bool(folder)
        for name in NAMES:
            content = repository.read(f"{folder}/{name}" if folder else name)
            if content is None:
                continue
            if isinstance(content, Content):
                self._add_with_imports(repository, content, depth)
                return
            self._add(content, depth)

    def _add_with_imports(
        self,
        repository: RepositoryFiles,
        content: Content,
        depth: int,
        imported_by: str | None = None,
        level: int = 0,
    ) -> None:
        reference = reference_in(content.text)
        target = self._imported(repository, content.path, reference) if reference else None
        if isinstance(target, Content):  # the file is only a reference
            self._paths.add(content.path)
            words = [reference or ""]
        elif self._add(content, depth, imported_by=imported_by):
            words = imports_of(content.text)
        else:
            return
        for word in words:
            imported = self._imported(repository, content.path, word)
            if imported is None or imported.path in self._paths:
                continue
            if len(self._found) >= MAX_FILES:
                self._add_refusal(imported.path, f"A prompt gets at most {MAX_FILES} files.", depth)
                return
            if isinstance(imported, Refusal):
                self._add(imported, depth, imported_by=content.path)
            elif level >= MAX_DEPTH:
                reason = f"Imports are followed to a depth of {MAX_DEPTH}."
                self._add(Refusal(imported.path, reason), depth, imported_by=content.path)
            else:
                self._add_with_imports(repository, imported, depth, content.path, level + 1)

    def _imported(
        self, repository: RepositoryFiles, importer: str, word: str
    ) -> Content | Refusal | None:
        """Read the file that the word of an import names. None means that it is not an import."""
        if is_outside(word):
            looks_like_file = word.startswith("~") or Path(word).exists()
            reason = "An import leads out of the repository."
            return Refusal(f"@{word}", reason) if looks_like_file else None
        path = (PurePosixPath(importer).parent / word).as_posix()
        try:
            real = repository.real_path(path)
            if isinstance(real, str) and real in self._paths:
                return Refusal(real, "It is already loaded.")
            content = repository.read(path)
        except (OSError, ValueError):
            return None
        if content is None and is_path(word):
            return Refusal(f"@{word}", "There is no such file.")
        return content

    def _add_refusal(self, path: str, reason: str, depth: int) -> None:
        self._add(Refusal(path, reason), depth)

    def _add(
        self,
        content: Content | Refusal,
        depth: int,
        *,
        own: bool = False,
        imported_by: str | None = None,
    ) -> bool:
        """Add a file unless it, or a file with the same text, was added. Returns whether it was."""
        if content.path in self._paths:
            return False
        self._paths.add(content.path)
        if isinstance(content, Content):
            if not content.text or content.digest in self._digests:
                return False
            self._digests.add(content.digest)
        self._found.append(_Found(content, depth, own, imported_by))
        return True

    def within(self, budget: int) -> Instructions:
        """Return the files, each with the part of its text that fits into the budget."""
        left, loaded = budget, dict[int, LoadedFile]()
        for position in _by_weight(self._found):
            found = self._found[position]
            if isinstance(found.content, Refusal):
                loaded[position] = LoadedFile(
                    found.content.path,
                    reason=found.content.reason,
                    own=found.own,
                    imported_by=found.imported_by,
                )
                continue
            if (found.content.path, found.content.digest) in self._known:
                continue
            room = min(left, budget // 2) if found.own else left
            loaded[position] = _fitted(found, found.content, room, budget)
            left -= loaded[position].tokens
        return Instructions(tuple(loaded[position] for position in sorted(loaded)), budget)


def _by_weight(found: Sequence[_Found]) -> list[int]:
    """Return the positions of files, the most important first."""

    def weight(position: int) -> tuple[bool, int, int]:
        each = found[position]
        return not each.own, -each.depth, position

    return sorted(range(len(found)), key=weight)


def _fitted(found: _Found, content: Content, room: int, budget: int) -> LoadedFile:
    """Cut a file to `room` tokens, or leave it out."""
    whole = max(estimate(content.text), content.size // _CHARACTERS_PER_TOKEN)
    loaded = LoadedFile(
        content.path,
        content.text,
        whole,
        whole,
        own=found.own,
        imported_by=found.imported_by,
        digest=content.digest,
    )
    if whole <= room:
        return loaded
    if room < _LEAST_TOKENS:
        reason = f"The budget of {budget:,} tokens is used up."
        return replace(loaded, text="", tokens=0, reason=reason)
    mark = f"\n[The rest of {content.path} is cut: it has about {whole:,} tokens. Read the file.]"
    text = cut_text(content.text, room - estimate(mark))
    if not text:
        reason = f"The budget of {budget:,} tokens is used up."
        return replace(loaded, text="", tokens=0, reason=reason)
    tokens = estimate(text + mark)
    return replace(
        loaded,
        text=text + mark,
        tokens=tokens,
        reason=f"Only the first {len(text.encode()):,} of {content.size:,} bytes fit.",
    )


def cut_text(text: str, tokens: int) -> str:
    """Return the beginning of `text` that has at most `tokens` tokens, by whole lines if possible.

    A first line that is too long is cut within the line.
    """
    if tokens <= 0:
        return ""
    low, high = 0, min(len(text), tokens * _CHARACTERS_PER_TOKEN)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate(text[:middle]) <= tokens:
            low = middle
        else:
            high = middle - 1
    if low == len(text):
        return text
    line_end = text.rfind("\n", 0, low)
    shortened = text[:line_end] if line_end > low // 2 else text[:low]
    return shortened.rstrip()
