"""References in code: calls, types, base types and imports, each with its scope.

References are read from one file when the file is parsed (`treadle.code.parse.references`). A query
resolves them later with the items of the other files (`treadle.code.graph`).
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

FILE_SCOPE = -1
"""The scope of code outside of all items."""


class ReferenceKind(IntEnum):
    """How a reference uses a name. The index stores the numeric values.

    The last two kinds are for built-in names of a language, which the repository may also define.
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

    `scope` is the position of the innermost enclosing item in the list of the file's items. `text`
    is the name as written. `path` is the name to resolve, with its parts joined by dots. If the
    file declares the type of the receiver, `path` has the type in place of the receiver: with
    `store: Store`, the path of `store.write` is `Store.write`. `path` is empty if the type of the
    receiver is unknown.
    """

    kind: ReferenceKind
    scope: int
    text: str
    path: str
    start: int
    end: int
    line: int


class Import(NamedTuple):
    """A name that an import binds in `scope` (see `Reference`).

    `name` is "*" if all public names are bound. `name` is empty for a re-export, which does not
    bind a name. `member` is empty if the module itself is imported. `exported` is the name under
    which other files can import the target from this file. `exported` is empty if other files
    cannot import the target from this file.
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
    """An import as read from the syntax, without its scope and position (see `Import`)."""

    name: str
    module: str
    member: str = ""
    exported: str = ""


class FileReferences(NamedTuple):
    """All references and imports of one file, in order of position.

    `module` is empty unless the file is a manifest. For `go.mod` and `Cargo.toml`, `module` has the
    file name, a space, and the name of the module or crate. For `Cargo.toml`, the declared root
    files follow, one on each line. The first of these lines is the root file of the library. This
    line is empty if the manifest does not declare the file.
    """

    references: Sequence[Reference] = ()
    imports: Sequence[Import] = ()
    module: str = ""
