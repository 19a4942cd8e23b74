"""Compares the files on disk with the files on which a proposal is based."""

from enum import StrEnum

from treadle.edits.application import ReadFile
from treadle.edits.model import ChangeKind, EditError, FileChange, content_hash


class Freshness(StrEnum):
    """Whether a file is unchanged since a proposal was staged."""

    FRESH = "fresh"
    CHANGED = "changed"
    GONE = "gone"
    IN_THE_WAY = "in the way"
    """A file exists at the path of a file to create, or at the target of a rename."""


def freshness_of(read: ReadFile, change: FileChange) -> Freshness:
    """Whether the file of a change has the bytes that it had at staging."""
    try:
        present = read(change.path)
        taken = change.target is not None and read(change.target) is not None
    except EditError:
        return Freshness.CHANGED  # the path is no longer a regular file
    if change.kind is ChangeKind.CREATE:
        return Freshness.FRESH if present is None else Freshness.IN_THE_WAY
    if present is None:
        return Freshness.GONE
    if content_hash(present) != change.base_hash:
        return Freshness.CHANGED
    return Freshness.IN_THE_WAY if taken else Freshness.FRESH
