"""Exactly the hunks that a person takes are written."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from treadle.app.proposals import ProposalService
from treadle.edits.model import splice
from treadle.edits.proposal_store import ProposalStore
from treadle.edits.requests import LineRangeEdit
from treadle.edits.service import Edits
from treadle.events import EventBus
from treadle.tui.diff.document import DiffDocument, Review

FILES = ("a.py", "b.txt")
LINES = 12


@settings(max_examples=25)  # each example writes files and a database
@given(
    changed=st.sets(st.tuples(st.sampled_from(FILES), st.integers(1, LINES)), min_size=1),
    line_end=st.sampled_from(["\n", "\r\n"]),
    steps=st.lists(st.tuples(st.booleans(), st.integers(0, 40)), max_size=12),
)
async def test_any_decisions_write_exactly_the_taken_hunks(
    changed: set[tuple[str, int]], line_end: str, steps: list[tuple[bool, int]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        root.mkdir()
        before = {}
        for name in FILES:
            content = "".join(f"line {n}{line_end}" for n in range(1, LINES + 1))
            before[name] = content.encode()
            (root / name).write_bytes(before[name])
        store = ProposalStore.open(Path(folder) / "proposals.db")
        edits = Edits(root, store)
        requests = [
            LineRangeEdit(name, line, line, f"new {line}{line_end}") for name, line in changed
        ]
        proposal = edits.stage(requests)
        service = ProposalService(edits, EventBus())
        review = Review(DiffDocument(await service.show(str(proposal.id))))
        hunks = review.document.hunks
        for of_file, number in steps:
            hunk = hunks[number % len(hunks)]
            if of_file:
                review.toggle_file(hunk.file)
            else:
                review.toggle(hunk.number)
        taken = set(review.taken)
        assert taken.isdisjoint(review.left_out)
        assert len(taken) + len(review.left_out) == len(hunks)
        if taken:
            await service.approve(str(proposal.id), hunks=sorted(taken))
        after = {name: (root / name).read_bytes() for name in FILES}
        expected = dict(before)
        for file, change in zip(review.document.files, proposal.changes, strict=True):
            kept = [
                hunk
                for shown, hunk in zip(file.hunks, change.hunks, strict=True)
                if shown.number in taken
            ]
            expected[change.path] = splice(before[change.path], kept)
        store.close()
    assert after == expected
