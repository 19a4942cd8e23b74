"""The files of prompts: the history of a repository, and drafts that survive a crash.

All files are in the data folder, and only their owner can read them. Secrets are removed from the
history. A draft keeps its exact text, and is deleted after it was sent. The modules that read and
write drafts are imported inside functions, so that the terminal starts before they are loaded.
"""

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Self

from treadle.errors import StoreError
from treadle.inside import read_regular
from treadle.owner_only import FILE_MODE, private_file, private_folder
from treadle.paths import data_path
from treadle.tui.prompt.draft import CommandOutput, Draft, Part, PastedText, Unsent
from treadle.tui.prompt.history import KEPT

_ENTRY_BYTES = 100_000
"""A longer message is not saved in the history."""
_HISTORY_BYTES = 4_000_000
"""If the history is larger than this number of bytes, only its newer half is kept."""
_DRAFT_BYTES = 50_000_000


class PromptFiles:
    """The files of one terminal. The methods block, so callers run them in threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._history = folder / "history.jsonl"
        self._name = f"draft-{secrets.token_hex(8)}"
        self._lock: int | None = None

    @classmethod
    def of(cls, root: str) -> Self:
        """The files for the repository at `root`. `root` may include the address of a server."""
        name = blake2b(os.fsencode(root), digest_size=16).hexdigest()
        return cls(data_path("prompts") / name)

    def history(self) -> Sequence[Draft]:
        """The saved messages, oldest first. Malformed lines are left out. Raises StoreError."""
        try:
            data = read_regular(os.fspath(self._history), 2 * _HISTORY_BYTES)
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise self._error(error) from error
        found = list(_drafts(data))[-KEPT:]
        if len(data) > _HISTORY_BYTES:
            self._shorten(found)
        return found

    def add_to_history(self, draft: Draft) -> None:
        """Save a message without its secrets. Raises StoreError."""
        from treadle.tui.prompt.saved_drafts import write_draft

        line = write_draft(_redacted(draft)) + b"\n"
        if len(line) > _ENTRY_BYTES:
            return
        try:
            with private_file(self._history).open("ab") as file:
                file.write(line)
        except OSError as error:
            raise self._error(error) from error

    def save(self, unsent: Unsent) -> None:
        """Save the draft and the queue in place of the earlier ones. Raises StoreError."""
        if not unsent:
            self._delete(self._name)
            return
        from treadle.tui.prompt.saved_drafts import write_unsent

        try:
            private_folder(self._folder)
            if self._lock is None:
                self._lock = _locked(self._folder / f"{self._name}.lock")
            _write(self._folder / f"{self._name}.json", write_unsent(unsent))
        except OSError as error:
            raise self._error(error) from error

    def take_left(self) -> Sequence[Unsent]:
        """Return the drafts of terminals that no longer run, and delete them from the files.

        The newest comes first. Raises StoreError.
        """
        from treadle.tui.prompt.saved_drafts import read_unsent

        left: list[tuple[float, Unsent]] = []
        try:
            for path in self._folder.glob("draft-*.json"):
                if path.stem == self._name:
                    continue
                lock = _locked(path.with_suffix(".lock"))
                if lock is None:
                    continue  # its terminal still runs
                with suppress(ValueError, FileNotFoundError):
                    left.append(
                        (
                            path.stat().st_mtime,
                            read_unsent(read_regular(os.fspath(path), _DRAFT_BYTES)),
                        )
                    )
                self._delete(path.stem)
                os.close(lock)
        except OSError as error:
            raise self._error(error) from error
        return [unsent for _, unsent in sorted(left, key=lambda each: each[0], reverse=True)]

    def release(self) -> None:
        """Leave the saved draft to the next terminal."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _delete(self, name: str) -> None:
        for ending in ("json", "lock"):
            (self._folder / f"{name}.{ending}").unlink(missing_ok=True)
        if name == self._name:
            self.release()

    def _shorten(self, drafts: Sequence[Draft]) -> None:
        from treadle.tui.prompt.saved_drafts import write_draft

        lines = [write_draft(draft) + b"\n" for draft in drafts]
        while len(lines) > 1 and sum(map(len, lines)) > _HISTORY_BYTES // 2:
            del lines[: len(lines) // 2]
        with suppress(OSError):  # for example on a full disk: the history then stays long
            _write(self._history, b"".join(lines))

    def _error(self, error: OSError) -> StoreError:
        return StoreError(
            f"The folder {self._folder} of drafts and history cannot be used: {error.strerror}.",
            hint="Set TREADLE_HOME to a writable folder.",
        )


def _drafts(data: bytes) -> Iterator[Draft]:
    from treadle.tui.prompt.saved_drafts import read_draft

    for line in data.split(b"\n"):
        with suppress(ValueError):
            yield read_draft(line)


def _redacted(draft: Draft) -> Draft:
    return Draft(tuple(map(_redacted_part, draft.parts)))


def _redacted_part(part: Part) -> Part:
    from treadle.secrets.redactor import redact

    match part:
        case str():
            return redact(part)
        case PastedText(text=text):
            return replace(part, text=redact(text))
        case CommandOutput(command=command, text=text):
            return CommandOutput(redact(command), redact(text))
    return part


def _locked(path: Path) -> int | None:
    """Lock a file, and return its descriptor. Return None if another process has locked it.

    The lock lasts until the descriptor is closed or this process ends.
    """
    import fcntl  # imported here, because some systems lack it

    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return None
    return file


def _write(path: Path, data: bytes) -> None:
    """Replace a file. A reader sees either the whole old content or the whole new content."""
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}.new")
    try:
        created = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
        with os.fdopen(created, "wb") as file:
            file.write(data)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
