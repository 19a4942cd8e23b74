"""Packs the references of a file into a small blob, and unpacks them."""

import json
import re
import zlib
from collections.abc import Collection, Iterable
from functools import cached_property
from itertools import accumulate
from zlib import crc32

from treadle.code.references import FileReferences, Import, Reference, ReferenceKind

_LEVEL = 6


def pack(found: FileReferences) -> bytes:
    """Arrange the references in columns, and compress the columns.

    Each position is stored as the difference to the one before it. Each name is stored once.
    """
    names: dict[str, int] = {}

    def known(name: str) -> int:
        return names.setdefault(name, len(names))

    references = found.references
    imports = found.imports
    columns = [
        [int(use.kind) for use in references],
        [use.scope for use in references],
        [known(use.text) for use in references],
        [known(use.path) for use in references],
        _differences([use.start for use in references]),
        [use.end - use.start for use in references],
        _differences([use.line for use in references]),
        [entry.scope for entry in imports],
        [known(entry.name) for entry in imports],
        [known(entry.module) for entry in imports],
        [known(entry.member) for entry in imports],
        [known(entry.exported) for entry in imports],
        _differences([entry.start for entry in imports]),
        [entry.end - entry.start for entry in imports],
        _differences([entry.line for entry in imports]),
    ]
    text = json.dumps([found.module, list(names), columns], separators=(",", ":"))
    return zlib.compress(text.encode("utf-8", "replace"), _LEVEL)


class Unpacked:
    """The references of one file, unpacked from the result of `pack`.

    Each reference is created when it is read.
    """

    def __init__(self, packed: bytes = b"") -> None:
        """Unpack a blob. An empty blob has no references."""
        self.module = ""
        self._names: list[str] = []
        self._columns: list[list[int]] = [[] for _ in range(_COLUMNS)]
        if packed:
            self.module, self._names, self._columns = json.loads(zlib.decompress(packed))

    @cached_property
    def references(self) -> list[Reference]:
        """All references, in order of position."""
        return self._references_at(range(len(self._columns[0])))

    def uses(self, names: Collection[str]) -> list[Reference]:
        """Return the references that may mean one of the names (see `used_names`), in order."""
        written, resolved = set(), set()
        for requested in names:
            for number, name in enumerate(self._names):
                if requested in name:
                    if _last_name(name) == requested:
                        written.add(number)
                    if name.rpartition(".")[2] == requested:
                        resolved.add(number)
        texts, paths = self._columns[2:4]
        return self._references_at(
            position
            for position, (text, path) in enumerate(zip(texts, paths, strict=True))
            if text in written or path in resolved
        )

    def uses_of_scope(self, scope: int) -> list[Reference]:
        """Return the references in one scope, in order."""
        return self._references_at(
            at for at, other in enumerate(self._columns[1]) if other == scope
        )

    @cached_property
    def imports(self) -> list[Import]:
        """All imports, in order of position."""
        names = self._names
        scopes, bound, modules, members, exported, starts, lengths, lines = self._columns[7:]
        starts, lines = list(accumulate(starts)), list(accumulate(lines))
        return [
            Import(
                scope, names[name], names[source], names[member], names[out], start,
                start + length, line,
            )
            for scope, name, source, member, out, start, length, line in zip(
                scopes, bound, modules, members, exported, starts, lengths, lines,
                strict=True,
            )
        ]  # fmt: skip

    @cached_property
    def _positions(self) -> tuple[list[int], list[int]]:
        """The start positions and the lines of references."""
        return list(accumulate(self._columns[4])), list(accumulate(self._columns[6]))

    def _references_at(self, positions: Iterable[int]) -> list[Reference]:
        names = self._names
        kinds, scopes, texts, paths, _, lengths, _ = self._columns[:7]
        starts, lines = self._positions
        return [
            Reference(
                _KINDS[kinds[at]], scopes[at], names[texts[at]], names[paths[at]],
                starts[at], starts[at] + lengths[at], lines[at],
            )
            for at in positions
        ]  # fmt: skip


_COLUMNS = 15
_KINDS = {kind.value: kind for kind in ReferenceKind}


def mention(name: str) -> int:
    """Return the key by which the index finds the files that mention a name.

    A collision of two keys costs only time.
    """
    return crc32(name.encode("utf-8", "replace"))


def mentions(found: FileReferences | Unpacked) -> set[int]:
    """Return the keys of all names to which the file may refer."""
    uses = {(use.text, use.path): use for use in found.references}
    names = {name for use in uses.values() for name in used_names(use)}
    for entry in found.imports:
        names.add(entry.member)
        names.add(last_part(entry.module))
    names.add(found.module.partition(" ")[0])
    names.discard("")
    return {mention(name) for name in names}


def used_names(use: Reference) -> set[str]:
    """Return the names that a reference may mean: its resolved name, and its written name."""
    return {use.path.rpartition(".")[2], _last_name(use.text)} - {""}


def _last_name(written: str) -> str:
    """Return the last name in the text of a reference, or "" if it does not end with a name."""
    if written.isidentifier():
        return written
    found = _LAST_NAME.search(written)
    return found.group() if found else ""


_LAST_NAME = re.compile(r"[\w$]+$")


def last_part(module: str) -> str:
    """Return the last name of an imported module: `b` for `./a/b.js`, `y` for `x.y` or `x::y`."""
    name = module.replace("::", "/").replace("\\", "/").rstrip("/.").rpartition("/")[2]
    if "/" in module or module.startswith("."):
        stem, dot, suffix = name.rpartition(".")
        if dot and stem and suffix in _SUFFIXES:
            return stem
        if "/" in module:
            return name
    return name.rpartition(".")[2]


_SUFFIXES = frozenset({"js", "mjs", "cjs", "jsx", "ts", "tsx", "h", "hh", "hpp", "hxx", "sh", "rb"})


def _differences(values: list[int]) -> list[int]:
    return [value - before for value, before in zip(values, [0, *values], strict=False)]
