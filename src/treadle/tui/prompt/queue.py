"""The messages that wait for the end of the running turn, and the view that changes them."""

from collections.abc import Iterator
from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList

from treadle.tui.actions import Where, actions_in
from treadle.tui.key_bindings import bindings, key_label
from treadle.tui.prompt.draft import Draft
from treadle.tui.text import foreign_line


class MessageQueue:
    """Messages in the order in which they will be sent."""

    def __init__(self) -> None:
        self._drafts: list[Draft] = []

    def add(self, draft: Draft, position: int | None = None) -> None:
        """Add a message at a position, or at the end if `position` is None."""
        self._drafts.insert(len(self._drafts) if position is None else position, draft)

    def take(self, position: int = 0) -> Draft | None:
        """Remove and return the message at a position. None if there is none."""
        return self._drafts.pop(position) if 0 <= position < len(self._drafts) else None

    def move(self, position: int, step: int) -> int:
        """Move a message by `step` positions. Returns its new position."""
        draft = self.take(position)
        if draft is None:
            return position
        target = max(0, min(len(self._drafts), position + step))
        self._drafts.insert(target, draft)
        return target

    def __getitem__(self, position: int) -> Draft:
        return self._drafts[position]

    def __iter__(self) -> Iterator[Draft]:
        return iter(self._drafts)

    def __len__(self) -> int:
        return len(self._drafts)


class QueueView(OptionList):
    """The queued messages above the prompt. It is hidden while the queue is empty."""

    DEFAULT_CSS = """
    QueueView {
        display: none;
        height: auto;
        overflow-x: hidden;
        border: round $border-blurred;
        padding: 0 1;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        background: $background;
        scrollbar-size-vertical: 1;
        &:focus { border: round $primary; }
        &.-shown { display: block; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.QUEUE)

    class Changed(Message):
        """The queue was changed in this view."""

    class Edit(Message):
        """The person wants to change a message in the prompt. It was removed from the queue."""

        def __init__(self, draft: Draft) -> None:
            super().__init__()
            self.draft = draft

    class Steer(Message):
        """The person wants to send a message to the running turn. It is still in the queue."""

        def __init__(self, position: int) -> None:
            super().__init__()
            self.position = position

    class Left(Message):
        """The person wants to write in the prompt."""

    def __init__(self, queue: MessageQueue) -> None:
        super().__init__()
        self._queue = queue

    def sync(self, *, busy: bool) -> None:
        """Show the queue. `busy` states whether a turn runs."""
        selected = self.highlighted
        self.clear_options()
        self.add_options([_line(number, each) for number, each in enumerate(self._queue, 1)])
        if self.has_focus and self._queue:
            self.highlighted = min(selected or 0, len(self._queue) - 1)
        elif self.has_focus:
            self.post_message(self.Left())
        self.set_class(bool(self._queue), "-shown")
        when = "sent when the turn ends" if busy else "press Enter in the empty prompt to send"
        self.border_title = Content(f"Queued: {when}")
        self.border_subtitle = Content(_keys() if self.has_focus else "")

    # The methods that run the actions in `treadle.tui.actions`.

    def action_edit_queued(self) -> None:
        """Move the selected message back to the prompt."""
        if (draft := self._queue.take(self._selected)) is not None:
            self.post_message(self.Edit(draft))

    def action_drop_queued(self) -> None:
        """Remove the selected message."""
        self._queue.take(self._selected)
        self.post_message(self.Changed())

    def action_steer_queued(self) -> None:
        """Send the selected message to the running turn."""
        self.post_message(self.Steer(self._selected))

    def action_move_queued_up(self) -> None:
        """Move the selected message towards the start of the queue."""
        self._move(-1)

    def action_move_queued_down(self) -> None:
        """Move the selected message towards the end of the queue."""
        self._move(1)

    def action_leave_queue(self) -> None:
        """Return to the prompt."""
        self.post_message(self.Left())

    def action_cursor_down(self) -> None:
        """Select the next message. After the last one, return to the prompt."""
        if self._selected + 1 >= len(self._queue):
            self.action_leave_queue()
        else:
            super().action_cursor_down()

    def action_cursor_up(self) -> None:
        """Select the previous message."""
        if self._selected > 0:
            super().action_cursor_up()

    def on_focus(self) -> None:
        """Select the last message, which is next to the prompt, and show the keys."""
        self.highlighted = len(self._queue) - 1 if self._queue else None
        self.post_message(self.Changed())

    def on_blur(self) -> None:
        """Hide the keys."""
        self.post_message(self.Changed())

    @property
    def _selected(self) -> int:
        return self.highlighted or 0

    def _move(self, step: int) -> None:
        position = self._queue.move(self._selected, step)
        self.highlighted = position
        self.post_message(self.Changed())


def _keys() -> str:
    """The main keys of the view."""
    shown = (action for action in actions_in(Where.QUEUE) if action.name != "leave_queue")
    return " · ".join(f"{key_label(each.keys[0])} {each.title.lower()}" for each in shown)


def _line(number: int, draft: Draft) -> Content:
    text = " ".join(draft.shown.split())
    return Content.assemble((f"{number}. ", "$text-muted"), foreign_line(text, columns=200))
