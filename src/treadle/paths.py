"""Where files may be: the root of a repository, what is inside it, and our own folders."""

import os
from collections.abc import Collection
from pathlib import Path, PurePath

from treadle.errors import PathRefusedError

HOME_VARIABLE = "TREADLE_HOME"
"""Names one folder that holds all that Treadle keeps, instead of the platform's usual places."""

SECRET_NAMES = frozenset({
    ".env", ".envrc", ".netrc", "_netrc", ".pgpass", ".pypirc", ".npmrc", ".htpasswd",
    ".git-credentials", ".dockercfg", ".vault-token", "id_rsa", "id_dsa", "id_ecdsa",
    "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk",
})  # fmt: skip
"""Names, in lower case, of files that usually hold keys or passwords; no tool reads them."""

SECRET_ENDINGS = (
    ".env", ".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".ppk", ".kdbx",
)  # fmt: skip
"""Ends of such names."""

HARMLESS_ENDINGS = (".example", ".sample", ".template")
"""Ends of the names of files that only show what a `.env` file looks like."""

SECRET_FOLDERS = frozenset({".git", ".ssh", ".gnupg", ".aws"})
"""Folders whose content no tool reads: version control's own data and stores of keys."""

_PRIVATE_FOLDER = "the folder {} holds internal data or keys"


def find_root(start: Path) -> Path:
    """The resolved root of the git working tree around `start`, or `start` itself, resolved."""
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / ".git").exists():
            return folder
    return start


def resolve_inside(root: Path, name: str) -> Path:
    """The resolved path of `name`, relative to `root` or absolute, which need not exist.

    Every link on the way is followed, also in `root` itself, and what comes out must be inside
    the resolved root. Raises PathRefusedError when it is not, or when `name` cannot be a path.
    """
    real_root = os.path.realpath(root)
    try:
        real = os.path.realpath(os.path.join(real_root, name))  # noqa: PTH118 (Path drops "a/..")
    except ValueError as error:  # a NUL, or text that no file system can hold
        raise PathRefusedError(
            f"{name!r} cannot be a path: {error}.", hint="Give a path relative to the root."
        ) from error
    path = Path(real)
    if not path.is_relative_to(real_root):
        raise PathRefusedError(
            f"{name!r} leads out of the root {real_root} (to {real}).",
            hint="Only files inside the root can be used; links are followed before the check.",
        )
    return path


def why_private(relative: str) -> str | None:
    """Why no tool reads the file or folder at `relative` (POSIX, to the root); None if one may.

    Looks at names alone, whatever their case.
    """
    *folders, name = relative.lower().split("/")
    for folder in folders:
        if folder in SECRET_FOLDERS:
            return _PRIVATE_FOLDER.format(folder)
    return why_private_name(name)


def why_private_name(name: str) -> str | None:
    """`why_private` of one name, whose folder may be read."""
    name = name.lower()
    if name in SECRET_FOLDERS:
        return _PRIVATE_FOLDER.format(name)
    settings = name.startswith(".env.") and not name.endswith(HARMLESS_ENDINGS)
    if settings or name in SECRET_NAMES or name.endswith(SECRET_ENDINGS):
        return "a file of such a name usually holds keys or passwords"
    return None


def resolve_readable(root: Path, name: str, consented: Collection[Path] = ()) -> Path:
    """`resolve_inside`, and refused also when a tool must not read what is there.

    Both the name as given and the place that its links lead to are looked at. Resolved paths in
    `consented` may be read whatever their names.
    """
    path = resolve_inside(root, name)
    inside = path.relative_to(os.path.realpath(root)).as_posix()
    reason = why_private(inside) or why_private(PurePath(name).name)
    if reason is not None and path not in consented:
        raise PathRefusedError(
            f"{name!r} is not read: {reason}.",
            hint="Ask the person for what you need from it, or read an example file beside it.",
        )
    return path


def holds_home(root: Path) -> bool:
    """Whether `root` is the home folder or above it: nobody wants a whole disk indexed."""
    return Path.home().resolve().is_relative_to(root)


def user_cache_dir() -> Path:
    """Folder for what can be made again, such as code indexes. Not created here."""
    return _own_folder("cache")


def user_data_dir() -> Path:
    """Folder for what is kept: conversations and traces. Not created here."""
    return _own_folder("data")


def user_config_dir() -> Path:
    """Folder of the user's configuration file. Not created here."""
    return _own_folder("config")


def data_path(name: str) -> Path:
    """The path of a file in the data folder, which is made, for its owner alone, if missing."""
    folder = user_data_dir()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder / name


def _own_folder(kind: str) -> Path:
    home = os.environ.get(HOME_VARIABLE)
    if home:
        return Path(home).expanduser().absolute() / kind
    import platformdirs

    find = getattr(platformdirs, f"user_{kind}_path")
    return Path(find("treadle", appauthor=False))
