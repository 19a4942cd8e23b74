"""The actions of the application about sources and traces of answers."""

import asyncio
from contextlib import ExitStack, suppress
from pathlib import Path
from uuid import UUID

from textual import work
from textual.app import App, SuspendNotSupported

from treadle.diagnosis.evidence import SpanReference, linked_spans
from treadle.display.editor import open_at
from treadle.errors import TreadleError
from treadle.events.types import SourceRange
from treadle.tui.conversation.items import (
    CallItem,
    CodeItem,
    Item,
    OutcomeItem,
    PromptItem,
    ProseItem,
)
from treadle.tui.conversation.transcript_state import TranscriptState
from treadle.tui.screens.transcript_actions import TranscriptActions
from treadle.tui.transcript.transcript import Transcript
from treadle.tui.workbench import Workbench


class ExplorationActions(App[None]):
    """The base of the application. The application sets `state` and opens the workbench."""

    state: TranscriptState
    _workbench: asyncio.Future[Workbench]

    def plan_sync(self) -> None:
        """Refresh the transcript soon."""
        raise NotImplementedError

    def report(self, error: TreadleError) -> None:
        """Show an error as a line of the transcript."""
        raise NotImplementedError

    @work
    async def complete_turn(self, request_id: UUID) -> None:
        """Add the sources, quotes and spans of a turn that ended to its outcome."""
        workbench = await self._workbench
        try:
            final = await workbench.final(request_id)
        except TreadleError as error:
            self.report(error)
            return
        if final is not None:
            self.state.finish(request_id, final)
            self.plan_sync()

    @work(exclusive=True, group="records")
    async def read_records(self) -> None:
        """Add the recorded usage, cost and sources to the turns of a loaded conversation."""
        workbench, conversation_id = await self._workbench, self.state.conversation_id
        if conversation_id is None:
            return
        try:
            records = await workbench.turn_records(conversation_id)
        except TreadleError as error:
            self.report(error)
            return
        if conversation_id == self.state.conversation_id:
            self.state.add_records(records)
            self.plan_sync()

    def on_transcript_target_chosen(self, message: Transcript.TargetChosen) -> None:
        """Show or hide the lines of a source, or show a span."""
        match message.target:
            case SourceRange() as source if source in message.item.excerpts:
                self.state.show_excerpt(message.item, source, None)
                self.plan_sync()
            case SourceRange() as source:
                self._show_excerpt(message.item, source)

    @work
    async def _show_excerpt(self, item: Item, source: SourceRange) -> None:
        workbench = await self._workbench
        try:
            self.state.show_excerpt(item, source, await workbench.excerpt(source))
        except TreadleError as error:
            self.state.show_excerpt(item, source, str(error))
        self.plan_sync()

    def action_open_source(self) -> None:
        """Open the selected source in the editor, or the first source of the selected item."""
        if not isinstance(self.screen, TranscriptActions):
            return
        transcript = self.screen.transcript
        target = transcript.selected_target
        source = target if isinstance(target, SourceRange) else _source(transcript.selected_item)
        if source is None:
            self.notify("The selected line has no source.", markup=False)
        else:
            self.open_in_editor(source)

    @work
    async def open_in_editor(self, source: SourceRange) -> None:
        """Open the first line of a source in the editor of the person."""
        workbench = await self._workbench
        path = Path(workbench.root) / source.file
        try:
            with ExitStack() as stack:
                with suppress(SuspendNotSupported):  # a graphical editor works without it
                    stack.enter_context(self.suspend())
                await open_at(path, max(1, source.start_line))
        except TreadleError as error:
            self.report(error)
        self.refresh(layout=True)


def _source(item: Item | None) -> SourceRange | None:
    """The first source of an item."""
    match item:
        case PromptItem(sources=sources) | CallItem(sources=sources) | OutcomeItem(sources=sources):
            return sources[0] if sources else None
        case CodeItem(label=label) if "/" in label:
            return SourceRange(label, 1, 1)
    return None


def span_of(item: Item | None) -> SpanReference | None:
    """The span of a call, or the first span that a part of an answer mentions."""
    match item:
        case CallItem(span=span):
            return span
        case ProseItem(text=text) if found := linked_spans(text):
            return found[0]
        case OutcomeItem(spans=spans) if spans:
            return spans[0]
    return None
