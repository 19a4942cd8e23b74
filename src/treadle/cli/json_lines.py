"""Shows a running question to a program: every event as a line, then one final line."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from treadle.app.answers import final_answer, outcome_answer
from treadle.app.application import App
from treadle.cli.output import print_json
from treadle.errors import TreadleError
from treadle.events import Subscription, event_json
from treadle.events.types import SessionCancelled, StopReason, Usage
from treadle.session import SessionOutcome

if TYPE_CHECKING:
    from treadle.app.answer_shapes import Failure


class JsonLines:
    """Prints the events of one request on standard output; the last line is of type `final`."""

    @contextmanager
    def answering(self, _app: App) -> Iterator[None]:
        """Nobody answers: what needs approval is refused."""
        yield

    async def follow(self, events: Subscription) -> None:
        """Print every event until the subscription is closed."""
        async for envelope in events:
            print_json(event_json(envelope))
            match envelope.event:
                case SessionCancelled(parent_id=None, usage=usage, cost=cost):
                    print_json(final_answer("", usage, cost, 0, StopReason.CANCELLED))
                case _:
                    pass

    def finish(self, outcome: SessionOutcome, trace_id: str) -> None:
        """Print the final line of a request that ended by itself."""
        print_json(outcome_answer(outcome, trace_id))

    def fail(self, error: TreadleError) -> None:
        """Print the final line of a request that failed."""
        told: Failure = {"message": error.message, "hint": error.hint}
        print_json(final_answer("", Usage(), None, 0, StopReason.FAILED, error=told))
