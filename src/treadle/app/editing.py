"""Opens the proposals of a repository."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from treadle.app.stores import proposals_path
from treadle.code.soundness import broken
from treadle.edits.proposal_store import ProposalStore
from treadle.edits.service import Edits


@contextmanager
def open_edits(root: Path) -> Iterator[Edits]:
    """The proposals of the repository at `root`; what a killed process left half done is ended.

    Raises StoreError when the data folder cannot be written.
    """
    store = ProposalStore.open(proposals_path())
    try:
        edits = Edits(root, store).examining(broken)
        edits.recover()
        yield edits
    finally:
        store.close()
