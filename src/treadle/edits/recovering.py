"""Ends what a process that died left half written: all of a plan, or nothing of it."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from treadle.edits.applying import WRITTEN_STATES
from treadle.edits.exchanging import place
from treadle.edits.locking import BusyError, locked
from treadle.edits.model import EditError, Proposal, ProposalState, content_hash
from treadle.edits.proposal_store import JournalEntry, ProposalStore, Written
from treadle.edits.tree import Tree
from treadle.edits.undoing import settled
from treadle.edits.writing import remove_temporary

_log = logging.getLogger(__name__)


def recover(tree: Tree, store: ProposalStore, locks: Path) -> tuple[Proposal, ...]:
    """End every plan in the journal that no living process is writing.

    A plan of which all files are new is done; any other is taken back. What another program has
    written to a file since stays. A plan that cannot be ended now stays in the journal.
    """
    ended: list[Proposal] = []
    for seen in store.journal(tree.root):
        paths = {tree.root / each.path for each in seen.made.written}
        try:
            with locked(locks, paths, wait=0):
                if seen in store.journal(tree.root):  # not ended while we came to the locks
                    ended.append(_end(tree, store, seen))
        except BusyError:
            continue  # it is being written
        except OSError as error:
            _log.warning("the proposal %s cannot be recovered now: %s", seen.proposal_id, error)
    return tuple(ended)


def _end(tree: Tree, store: ProposalStore, entry: JournalEntry) -> Proposal:
    proposal = store.get(entry.proposal_id)
    pairs = list(zip(entry.made.written, entry.temporaries, strict=True))
    if _is_done(tree, pairs):
        for written, temporary in pairs:
            remove_temporary(tree, written.path, temporary)
            if written.after is None:
                tree.remove_folders(written.folders)
        last = store.made(proposal.id)
        after, made = settled(proposal, entry.goal, entry.made, last)
        return store.end(proposal, after, made=made)
    for written, temporary in reversed(pairs):
        _take_back(tree, written, temporary)
    for written, _ in pairs:
        if written.after is not None:
            tree.remove_folders(written.folders)
    others = [written.path for written, _ in pairs if _present(tree, written) != written.before]
    return store.end(proposal, _taken_back(proposal, others), made=None)


def _is_done(tree: Tree, pairs: Sequence[tuple[Written, str]]) -> bool:
    """Whether all files are new, or were before somebody changed them.

    What was displaced goes only once all files are new, so that one displaced file that is gone
    tells it as well.
    """
    all_new = True
    for written, temporary in pairs:
        try:
            with place(tree, written.path, temporary) as spot:
                spot.gather()
                new = _present(tree, written) == written.after
                replaced = written.before is not None and written.after is not None
                if new and replaced and spot.temporary() is None:
                    return True
        except FileNotFoundError:
            new = written.after is None
        except EditError:
            new = False
        all_new = all_new and new
    return all_new


def _take_back(tree: Tree, written: Written, temporary: str) -> None:
    try:
        with place(tree, written.path, temporary) as spot:
            spot.put_back(written.before, written.after)
            spot.remove_temporary()
    except FileNotFoundError:
        return  # its folder is gone
    except EditError:  # something other than a file is there now
        remove_temporary(tree, written.path, temporary)


def _present(tree: Tree, written: Written) -> str | None:
    """The hash of what is there; of what is no regular file a word that no hash is."""
    try:
        content = tree.read(written.path)
    except EditError:
        return "no file"
    return None if content is None else content_hash(content.data)


def _taken_back(proposal: Proposal, others: Sequence[str]) -> Proposal:
    """A proposal whose writing was broken off; `others` are files that somebody else changed."""
    if others:
        state = ProposalState.CONFLICTED
        reason = f"Its write was interrupted; {', '.join(others)} changed since and is kept."
    else:
        state = ProposalState.FAILED
        reason = "Its write was interrupted; every file has its earlier content."
    if proposal.state in WRITTEN_STATES:
        state = proposal.state
    return replace(proposal, state=state, reason=reason)
