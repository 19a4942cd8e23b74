"""Prints a turn for programs: each event as a line, then one final line."""

from collections.abc import Iterator
from contextlib import contextmanager

from treadle.app.application import App
from treadle.app.turn_answers import Failure, Final
from treadle.cli.output import print_json
from treadle.errors import TreadleError
from treadle.events import Subscription, event_json
from treadle.events.types import SessionCancelled, StopReason
from treadle.json_values import to_json
from treadle.session import SessionOutcome


class JsonLines:
    """Prints the events of one request on standard output; the last line is of type `final`."""

    @contextmanager
    def answering(self, _app: App) -> Iterator[None]:
        """Answer no questions, so that calls that need an approval are refused."""
        yield

    async def follow(self, events: Subscription) -> None:
        """Print every event until the subscription is closed."""
        async for envelope in events:
            print_json(event_json(envelope))
            match envelope.event:
                case SessionCancelled(parent_id=None, usage=usage, cost=cost):
                    _print_final(Final(usage=usage, cost=cost, stop_reason=StopReason.CANCELLED))
                case _:
                    pass

    def finish(self, outcome: SessionOutcome, trace_id: str) -> None:
        """Print the final line of a completed request."""
        _print_final(Final.of(outcome, trace_id))

    def fail(self, error: TreadleError) -> None:
        """Print the final line of a request that failed."""
        _print_final(Final(stop_reason=StopReason.FAILED, error=Failure.of(error)))


def _print_final(final: Final) -> None:
    print_json(to_json(final))
