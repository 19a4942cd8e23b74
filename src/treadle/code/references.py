"""What the code of a file refers to: calls, types, bases and imports, with the scope they are in.

They are read from one file when it is parsed (`treadle.code.parse.references`). A query resolves
them later, with the items of the other files (`treadle.code.graph`).
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

FILE_SCOPE = -1
"""The scope of what stands outside of all items."""


class ReferenceKind(IntEnum):
    """How a reference uses what it names. The numbers are stored.

    The last two name what the language has itself, unless the repository has that name too.
    """

    CALL = 1
    TYPE = 2
    BASE = 3
    BUILT_IN_CALL = 4
    BUILT_IN_TYPE = 5


CALLS = frozenset({ReferenceKind.CALL, ReferenceKind.BUILT_IN_CALL})
BUILT_IN = frozenset({ReferenceKind.BUILT_IN_CALL, ReferenceKind.BUILT_IN_TYPE})


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


class FileReferences(NamedTuple):
    """All references and imports of one file, in order of position.

    `module` is what a manifest says that its folder is imported as: `go.mod` or `Cargo.toml`, a
    space, and the name; for the latter also the root files that it names, each on a line, the
    library's first (empty where it has the usual one).
    """

    references: Sequence[Reference] = ()
    imports: Sequence[Import] = ()
    module: str = ""
