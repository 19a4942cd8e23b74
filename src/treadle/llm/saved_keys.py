"""Saved keys of providers, each for one provider at one address.

The user and each project of a server have their own keys, in their own folder.

Keys are in the system keyring if it works, or else in a file that only its owner may read. The file
also names the providers whose keys are in the keyring. Therefore the keyring is unlocked only for
these providers. A key is used only for the provider address for which it was entered. If a setting
later changes the address of the provider, the key is not used.
"""

import json
import os
import stat
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from treadle import secrets
from treadle.errors import ConfigError
from treadle.owner_only import private_folder, refuse_foreign
from treadle.paths import user_config_dir

FILE_NAME = "providers.key"
"""The name of the key file.

The name ends in `.key`, since no tool reads files with such names. This protects the file even if
its folder is inside a repository.
"""
SERVICE = "treadle provider keys"
"""The service name of all entries in the keyring.

The setting `api_key_keyring` names entries of another service, so it cannot read these entries.
"""
_FORMAT = 1

Stamp = tuple[int, int, int] | None

_writing = threading.Lock()
_read: "dict[Path, tuple[Stamp, Mapping[str, SavedKey]]]" = {}
"""The content of each key file when it was last read, with the stamp of the file at that time."""


class KeyLocation(StrEnum):
    """The location of a saved key."""

    KEYRING = "keyring"
    FILE = "stored"


@dataclass(frozen=True, slots=True)
class SavedKey:
    """A key for one provider address. `key` is None if the key is in the keyring."""

    base_url: str
    key: str | None = field(repr=False)

    @property
    def location(self) -> KeyLocation:
        return KeyLocation.KEYRING if self.key is None else KeyLocation.FILE


def path(folder: Path) -> Path:
    """Return the path of the key file in the folder of the user or of a project.

    The file may not exist.
    """
    return folder / FILE_NAME


def stamp(folder: Path) -> Stamp:
    """Return a value that changes whenever the key file changes, or None if there is no file.

    The call takes 2 µs.
    """
    try:
        status = path(folder).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size


def find(folder: Path, provider: str) -> SavedKey | None:
    """Return the saved key of a provider for any address, or None. Raises ConfigError."""
    return _all(folder).get(provider)


def find_for(folder: Path, provider: str, base_url: str) -> SavedKey | None:
    """Return the saved key of a provider for this address, or None. Raises ConfigError."""
    found = find(folder, provider)
    return found if found is not None and _same(found.base_url, base_url) else None


def read_key(folder: Path, provider: str, base_url: str) -> str | None:
    """Return the saved key, or None if there is none.

    Call this in a thread, since it may wait until a person unlocks the keyring. Raises ConfigError.
    """
    found = find_for(folder, provider, base_url)
    if found is None:
        return None
    key = (
        found.key
        if found.key is not None
        else _from_keyring(provider, _entry_name(folder, provider))
    )
    secrets.register(key or "")
    return key


def save(folder: Path, provider: str, base_url: str, key: str) -> KeyLocation:
    """Save a key, or replace the saved key. Returns its location.

    Call this in a thread, since it may wait until a person unlocks the keyring. Raises ConfigError.
    """
    secrets.register(key)
    with _writing:
        everything = dict(_all(folder))
        inside = _into_keyring(_entry_name(folder, provider), key)
        everything[provider] = SavedKey(base_url, None if inside else key)
        _write(path(folder), everything)
    return everything[provider].location


def forget(folder: Path, provider: str) -> bool:
    """Delete the saved key of a provider, and return whether there was one. Raises ConfigError."""
    with _writing:
        everything = dict(_all(folder))
        found = everything.pop(provider, None)
        if found is None:
            return False
        if found.location is KeyLocation.KEYRING:
            _out_of_keyring(_entry_name(folder, provider))
        _write(path(folder), everything)
    return True


def register_all(folder: Path) -> None:
    """Register the keys in the file for redaction.

    A key in a keyring is registered on first use.
    """
    for each in _all(folder).values():
        secrets.register(each.key or "")


def _same(first: str, second: str) -> bool:
    return first.rstrip("/") == second.rstrip("/")


def _all(folder: Path) -> Mapping[str, SavedKey]:
    at, now = path(folder), stamp(folder)
    known = _read.get(at)
    if known is not None and known[0] == now:
        return known[1]
    everything = {} if now is None else _parsed(at)
    _read[at] = now, everything
    return everything


def _entry_name(folder: Path, provider: str) -> str:
    """Return the name of the keyring entry. For a key of a project, it contains the project."""
    return provider if folder == user_config_dir() else f"{provider} in project {folder.name}"


def _parsed(path: Path) -> dict[str, SavedKey]:
    try:
        status = path.stat()
        refuse_foreign(path, status)
        mode = status.st_mode
        content = path.read_bytes() if stat.S_ISREG(mode) else b""
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror}.", hint="Check its permissions."
        ) from error
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ConfigError(
            f"Other users may read the stored keys in {path}.",
            hint=f"Run `chmod 600 {path}`, and replace the keys: other users may have read them.",
        )
    try:
        return {str(name): _entry(each) for name, each in json.loads(content)["keys"].items()}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise ConfigError(
            f"{path} is not a valid key file.",
            hint="Delete it, and store the keys again with `treadle models key set PROVIDER`.",
        ) from None  # the traceback of the cause would show the content of the file


def _entry(entry: Mapping[str, object]) -> SavedKey:
    base_url, key = entry["base_url"], entry.get("key")
    if not isinstance(base_url, str) or not isinstance(key, str | None):
        raise TypeError
    return SavedKey(base_url, key)


def _write(at: Path, everything: Mapping[str, SavedKey]) -> None:
    """Write the whole file.

    The content is first written to a temporary file that only its owner can read. Then this file
    replaces the old one.
    """
    entries = {
        name: {"base_url": each.base_url, **({} if each.key is None else {"key": each.key})}
        for name, each in everything.items()
    }
    try:
        private_folder(at.parent)
        handle, name = tempfile.mkstemp(dir=at.parent, prefix=f".{FILE_NAME}.", suffix=".key")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump({"format": _FORMAT, "keys": entries}, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(at)
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise
    except OSError as error:
        raise ConfigError(
            f"{at} cannot be written: {error.strerror}.",
            hint="Set api_key_env to the name of an environment variable with the key instead.",
        ) from error


def _into_keyring(entry: str, key: str) -> bool:
    """Store the key in the keyring, and return whether reading it back succeeds.

    Some keyrings report success but store nothing.
    """
    try:
        import keyring
    except ImportError:
        return False
    try:
        keyring.set_password(SERVICE, entry, key)
        return keyring.get_password(SERVICE, entry) == key
    except keyring.errors.KeyringError:
        return False


def _out_of_keyring(entry: str) -> None:
    try:
        import keyring
    except ImportError:
        return
    try:
        keyring.delete_password(SERVICE, entry)
    except keyring.errors.PasswordDeleteError:
        return  # the key no longer exists
    except keyring.errors.KeyringError as error:
        raise _locked(error) from error


def _from_keyring(provider: str, entry: str) -> str | None:
    try:
        import keyring
    except ImportError as error:
        raise ConfigError(
            f"The key of {provider} is in the system keyring, which needs the package keyring.",
            hint="python -m pip install 'treadle[keyring]', or store the key again.",
        ) from error
    try:
        return keyring.get_password(SERVICE, entry)
    except keyring.errors.KeyringError as error:
        raise _locked(error) from error


def _locked(error: Exception) -> ConfigError:
    return ConfigError(
        f"The system keyring cannot be used ({error}).", hint="Unlock it and try again."
    )
