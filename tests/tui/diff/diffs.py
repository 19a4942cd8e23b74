"""Proposals in memory, and an application that shows one diff, for the tests of the view."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

from textual.app import App, ComposeResult

from treadle.app.proposal_answers import ShownProposal
from treadle.edits.freshness import Freshness
from treadle.edits.hunks import rehunk
from treadle.edits.model import Proposal, ProposalState
from treadle.ids import new_id
from treadle.tui.diff.document import DiffDocument, Review
from treadle.tui.diff.view import DiffView


def shown(files: Mapping[str, tuple[bytes, bytes]]) -> ShownProposal:
    """The proposal that changes the content of files, with the old and the new content of each."""
    changes = tuple(rehunk(path, old, new) for path, (old, new) in files.items())
    proposal = Proposal(new_id(), "/r", ProposalState.STAGED, "change", changes, 0, 0)
    return ShownProposal.of(proposal, [Freshness.FRESH] * len(changes))


def denied(proposal: ShownProposal, *parts: tuple[int, int]) -> ShownProposal:
    """The same proposal after a person denied parts of it."""
    part = replace(proposal.proposal, denied=frozenset(parts))
    return ShownProposal.of(part, [Freshness.FRESH] * len(part.changes))


class DiffApp(App[None]):
    """Shows one diff."""

    def __init__(self, review: Review) -> None:
        super().__init__()
        self.review = review

    def compose(self) -> ComposeResult:
        yield DiffView()

    def on_mount(self) -> None:
        self.view.show(self.review, decides=True)
        self.view.focus()

    @property
    def view(self) -> DiffView:
        return self.query_one(DiffView)

    def lines(self) -> list[str]:
        """All lines of the diff as they are drawn, not only the visible ones."""
        assert self.view._layout is not None
        top = self.view.scroll_offset.y
        drawn = [self.view.render_line(line - top) for line in range(self.view._layout.total)]
        return [strip.text for strip in drawn]


@asynccontextmanager
async def shown_diff(
    proposal: ShownProposal, *, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[DiffApp]:
    """An application that shows the diff of a proposal."""
    app = DiffApp(Review(DiffDocument(proposal)))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield app
