"""The base of the screens that a person closes again."""

from typing import TypeVar

from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen
from textual.worker import NoActiveWorker, get_current_worker

R = TypeVar("R")


class Overlay(ModalScreen[R]):
    """A modal screen whose workers end when the person closes it.

    Textual removes the parts of a screen before it cancels the workers of the screen. A worker
    that continues in this time would not find these parts, and its error would end the terminal.
    """

    def dismiss(self, result: R | None = None) -> AwaitComplete:
        """Cancel the workers, and close the screen. A worker that calls this method continues."""
        try:
            present = get_current_worker()
        except NoActiveWorker:
            present = None
        for worker in self.workers:
            if worker.node is self and worker is not present:
                worker.cancel()
        return super().dismiss(result)
