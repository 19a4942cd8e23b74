"""The actions of the application about sources and traces of answers."""

from contextlib import ExitStack, suppress
from pathlib import Path
from uuid import UUID

from textual import work
from textual.app import App, SuspendNotSupported

from treadle.clock import Clock
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
from treadle.tui.prompt.area import PromptArea
from treadle.tui.screens.transcript_actions import TranscriptActions
from treadle.tui.transcript.transcript import Transcript
from treadle.tui.workbench import Workbench

_QUESTION = "What went wrong in this run, or what could be better? Cite the calls."
"""The question to the analyst (an agent) if the person does not write one."""


class ExplorationActions(App[None]):
    """A base class of the application. The application sets `state` and opens the workbench."""

    state: TranscriptState
    area: PromptArea
    _clock: Clock
    _analyst_conversation: UUID | None = None

    async def opened(self) -> Workbench:
        """Wait until the repository is open."""
        raise NotImplementedError

    def plan_sync(self) -> None:
        """Refresh the transcript soon."""
        raise NotImplementedError

    def report(self, error: TreadleError) -> None:
        """Show an error as a line of the transcript."""
        raise NotImplementedError

    @work
    async def complete_turn(self, request_id: UUID) -> None:
        """Wait for the result of a turn that ended, and add its sources, quotes and spans.

        They are added to the item that shows the outcome of the turn.
        """
        workbench = await self.opened()
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
        workbench, conversation_id = await self.opened(), self.state.conversation_id
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
            case SpanReference(trace_id=trace_id, span_id=span_id):
                self.show_trace(trace_id, span_id)

    def action_trace(self) -> None:
        """Show the trace of the selected answer, or of the last one."""
        item = self._item_of_a_turn()
        if item is None or item.request_id is None:
            self.notify("There is no answer with a trace yet.", markup=False)
        elif (span := span_of(item)) is not None and item is not self.state.items[-1]:
            self.show_trace(span.trace_id, span.span_id)
        else:
            self.show_trace(item.request_id.hex)

    def action_open_span(self) -> None:
        """Show the selected span. If another line is selected, show the trace of its turn."""
        if isinstance(self.screen, TranscriptActions):
            target = self.screen.transcript.selected_target
            if isinstance(target, SpanReference):
                self.show_trace(target.trace_id, target.span_id)
                return
        self.action_trace()

    @work(exclusive=True, group="trace")
    async def show_trace(self, trace_id: str, span_id: str | None = None) -> None:
        """Show a trace, and ask the analyst about it if the person wants that."""
        from treadle.tui.screens.trace import TraceScreen

        screen = TraceScreen(await self.opened(), trace_id, span_id)
        question = await self.push_screen_wait(screen)
        if question is not None:
            self.ask_analyst(question.about, None)

    def action_analyse(self, question: str | None = None) -> None:
        """Ask the analyst about the run of the selected answer, or of the last one."""
        item = self._item_of_a_turn()
        if item is None or item.request_id is None:
            self.notify("There is no answer to analyse yet.", markup=False)
        else:
            self.ask_analyst(SpanReference(item.request_id.hex, ""), question)

    @work
    async def ask_analyst(self, about: SpanReference, question: str | None) -> None:
        """Ask the analyst about a trace. The answer appears in the transcript."""
        from treadle.agents.page_context import PageContext

        text = question or _QUESTION
        page = PageContext(trace_id=about.trace_id, span_id=about.span_id or None)
        workbench = await self.opened()
        try:
            started = await workbench.ask_analyst(
                text,
                page,
                conversation=self._analyst_conversation,
                asked_in=self.state.conversation_id,
                model=None,
            )
        except TreadleError as error:
            self.report(error)
            return
        self._analyst_conversation = started.conversation_id
        self.state.add_prompt(started.request_id, text)
        self.plan_sync()

    def _item_of_a_turn(self) -> Item | None:
        """Return the selected item, or the last item that belongs to a turn."""
        if isinstance(self.screen, TranscriptActions):
            selected = self.screen.transcript.selected_item
            if selected is not None and selected.request_id is not None:
                return selected
        of_turns = (item for item in reversed(self.state.items) if item.request_id is not None)
        return next(of_turns, None)

    @work
    async def _show_excerpt(self, item: Item, source: SourceRange) -> None:
        workbench = await self.opened()
        try:
            self.state.show_excerpt(item, source, await workbench.excerpt(source))
        except TreadleError as error:
            self.state.show_excerpt(item, source, str(error))
        if isinstance(self.screen, TranscriptActions):
            self.screen.transcript.sync()
            self.screen.transcript.make_room()

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
        """Open a source at its first line in the editor of the person."""
        try:
            await self.edit_source(source)
        except TreadleError as error:
            self.report(error)

    async def edit_source(self, source: SourceRange) -> None:
        """Open a source in the editor, and wait until the editor ends.

        Raises TreadleError if the file is missing or the editor fails.
        """
        path = Path((await self.opened()).root) / source.file
        with ExitStack() as stack:
            with suppress(SuspendNotSupported):  # a graphical editor needs no suspension
                stack.enter_context(self.suspend())
            await open_at(path, max(1, source.start_line))
        self.refresh(layout=True)

    @work(exclusive=True, group="search")
    async def action_search(self, query: str | None = None) -> None:
        """Search the code, and attach the chosen code to the prompt."""
        from treadle.tui.screens.search import SearchScreen

        screen = SearchScreen(await self.opened(), self.edit_source, self._clock, query or "")
        found = await self.push_screen_wait(screen)
        if found is not None:
            self.area.prompt.insert_chip(found.attachment)
            self.area.prompt.focus()


def _source(item: Item | None) -> SourceRange | None:
    """Return the first source of an item. The source of a snippet is the file in its label."""
    match item:
        case PromptItem(sources=sources) | CallItem(sources=sources) | OutcomeItem(sources=sources):
            return sources[0] if sources else None
        case CodeItem(label=label) if "/" in label:
            return SourceRange(label, 1, 1)
    return None


def span_of(item: Item | None) -> SpanReference | None:
    """Return the span of a tool call, or the first span that a part of an answer mentions."""
    match item:
        case CallItem(span=span):
            return span
        case ProseItem(text=text) if found := linked_spans(text):
            return found[0]
        case OutcomeItem(spans=spans) if spans:
            return spans[0]
    return None
