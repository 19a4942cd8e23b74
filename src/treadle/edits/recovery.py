"""Completes or reverts writes whose process died.

A living process holds locks on the files that it writes.
"""

import logging
import os
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

from treadle.edits.application import WRITTEN_STATES, settle
from treadle.edits.file_writes import open_exchange, remove_temporary
from treadle.edits.model import EditError, Proposal, ProposalState, content_hash
from treadle.edits.proposal_store import JournalEntry, ProposalStore, Written
from treadle.edits.tree import Tree
from treadle.events.types import ErrorKind
from treadle.owner_only import private_folder

WAIT_SECONDS = 10.0
_PAUSE_SECONDS = 0.005


class BusyError(EditError):
    """Raised when another process or thread holds a lock."""


@contextmanager
def locked(folder: Path, paths: Collection[Path], *, wait: float = WAIT_SECONDS) -> Iterator[None]:
    """Holds the locks of `paths`, which are resolved paths.

    The locks are files in `folder`, which is created if necessary. The hash of a path selects one
    of 256 lock files, so two paths may share a lock. All callers acquire locks in the same order,
    so they cannot deadlock. The locks are not re-entrant. Raises BusyError after `wait` seconds,
    and OSError when `folder` cannot be written.
    """
    private_folder(folder)
    names = sorted({_name(path) for path in paths})
    until = time.monotonic() + wait
    with ExitStack() as held:
        for name in names:
            file = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            held.callback(os.close, file)
            while not _try_lock(file):
                if time.monotonic() >= until:
                    raise BusyError(
                        ErrorKind.UNAVAILABLE,
                        "Another process is writing one of these files.",
                        hint="Try again when it is done.",
                    )
                time.sleep(_PAUSE_SECONDS)
        yield


def _name(path: Path) -> str:
    return blake2b(os.fsencode(path), digest_size=1).hexdigest()


def _try_lock(file: int) -> bool:
    """Try to lock the open `file`. The lock ends when the file is closed or the process ends."""
    import fcntl  # imported here: some systems lack it, and reading proposals does not need it

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


_log = logging.getLogger(__name__)


def recover(tree: Tree, store: ProposalStore, locks: Path) -> tuple[Proposal, ...]:
    """Complete or revert every recorded write whose process has died, and return the proposals.

    The journal records the writes.

    A write counts as complete if all its files have the new content. Other writes are reverted.
    Changes that another program made meanwhile are kept. A write that cannot be completed or
    reverted now stays in the journal.
    """
    ended: list[Proposal] = []
    for seen in store.journal(tree.root):
        paths = {tree.root / each.path for each in seen.applied.written}
        try:
            with locked(locks, paths, wait=0):
                if seen in store.journal(tree.root):  # another process may have recovered it
                    ended.append(_end(tree, store, seen))
        except BusyError:
            continue  # a living process is writing these files
        except OSError as error:
            _log.warning("the proposal %s cannot be recovered now: %s", seen.proposal_id, error)
    return tuple(ended)


def _end(tree: Tree, store: ProposalStore, entry: JournalEntry) -> Proposal:
    proposal = store.get(entry.proposal_id)
    pairs = list(zip(entry.applied.written, entry.temporaries, strict=True))
    if _is_done(tree, pairs):
        for written, temporary in pairs:
            remove_temporary(tree, written.path, temporary)
            if written.after is None:
                tree.remove_folders(written.folders)
        last = store.applied(proposal.id)
        after, applied = settle(proposal, entry.goal, entry.applied, last)
        return store.end(proposal, after, applied=applied)
    for written, temporary in reversed(pairs):
        _take_back(tree, written, temporary)
    for written, _ in pairs:
        if written.after is not None:
            tree.remove_folders(written.folders)
    changed = [written.path for written, _ in pairs if _present(tree, written) != written.before]
    return store.end(proposal, _taken_back(proposal, changed), applied=None)


def _is_done(tree: Tree, pairs: Sequence[tuple[Written, str]]) -> bool:
    """Whether all files of the write got their new content, even if they have changed since.

    The old files get temporary names, and are removed only after all files have their new content.
    Therefore one missing old file proves that the write was complete.
    """
    all_new = True
    for written, temporary in pairs:
        try:
            with open_exchange(tree, written.path, temporary) as exchange:
                exchange.gather()
                new = _present(tree, written) == written.after
                replaced = written.before is not None and written.after is not None
                if new and replaced and exchange.temporary() is None:
                    return True
        except FileNotFoundError:
            new = written.after is None
        except EditError:
            new = False
        all_new = all_new and new
    return all_new


def _take_back(tree: Tree, written: Written, temporary: str) -> None:
    try:
        with open_exchange(tree, written.path, temporary) as exchange:
            exchange.put_back(written.before, written.after)
            exchange.remove_temporary()
    except FileNotFoundError:
        return  # the folder no longer exists
    except EditError:  # something other than a file is at the path now
        remove_temporary(tree, written.path, temporary)


def _present(tree: Tree, written: Written) -> str | None:
    """The hash of the current file, or None if nothing exists at its path.

    The result is "no file" if something other than a regular file exists there.
    """
    try:
        content = tree.read(written.path)
    except EditError:
        return "no file"
    return None if content is None else content_hash(content.data)


def _taken_back(proposal: Proposal, changed: Sequence[str]) -> Proposal:
    """The proposal after its interrupted write was reverted.

    `changed` are the files that other programs changed meanwhile.
    """
    if changed:
        state = ProposalState.CONFLICTED
        reason = f"Its write was interrupted; {', '.join(changed)} changed since and is kept."
    else:
        state = ProposalState.FAILED
        reason = "Its write was interrupted; every file has its earlier content."
    if proposal.state in WRITTEN_STATES:
        state = proposal.state
    return replace(proposal, state=state, reason=reason)
