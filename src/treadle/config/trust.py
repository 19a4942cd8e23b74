"""The trusted state of a repository: its identity, and the values of its settings.

A user trusts a repository by adding its path to `trusted_roots`. Another repository may later
replace the one at this path. The settings of the trusted repository may also change, even by a
model's edit. The first load after the path was added therefore stores the identity and the values.
Later changes take effect only after a person accepts them.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from tempfile import mkstemp
from typing import Any

from treadle.paths import user_data_dir
from treadle.repository_identity import consent_identity

_FILE = "trusted.json"
_MAX_BYTES = 4_000_000


@dataclass(frozen=True, slots=True)
class Trust:
    """The identity of a repository, and a hash of the value of each setting by dotted key."""

    identity: str
    settings: Mapping[str, str]

    @classmethod
    def of(cls, root: Path, values: Mapping[str, object], *, create: bool) -> "Trust":
        """Return the present state of the repository at `root`.

        `values` are its settings that need consent. With `create`, a repository without an id gets
        an id.
        """
        try:
            found = consent_identity(root, create=create)
        except OSError:
            found = None
        return cls(found or "", {key: _hash(value) for key, value in values.items()})

    def accepts(self, now: "Trust") -> bool:
        """Whether `now` is a state of the same repository."""
        return self.identity == now.identity

    def changed(self, now: "Trust") -> frozenset[str]:
        """Return the settings that are new or have another value in `now`."""
        return frozenset(
            key for key, value in now.settings.items() if self.settings.get(key) != value
        )


def trusted(root: Path) -> Trust | None:
    """Return the trusted state of the repository at `root`, or None if no valid state is stored."""
    noted = _all().get(str(root.resolve()))
    try:
        return None if noted is None else Trust(str(noted["identity"]), dict(noted["settings"]))
    except (KeyError, TypeError, ValueError):
        return None


def note(root: Path, trust: Trust | None) -> None:
    """Store the trusted state of the repository at `root`.

    If `trust` is None, the stored state is deleted. Raises OSError.
    """
    everything = _all()
    if trust is None:
        everything.pop(str(root.resolve()), None)
    else:
        everything[str(root.resolve())] = {
            "identity": trust.identity,
            "settings": dict(trust.settings),
        }
    folder = user_data_dir()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file, name = mkstemp(dir=folder, prefix=_FILE)  # readable only by its owner
    try:
        with os.fdopen(file, "w", encoding="utf-8") as output:
            json.dump(everything, output)
        Path(name).replace(folder / _FILE)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _all() -> dict[str, Any]:
    path = user_data_dir() / _FILE
    try:
        if path.stat().st_size > _MAX_BYTES:
            return {}
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _hash(value: object) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).hexdigest()
