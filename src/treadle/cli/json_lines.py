"""Shows a running question to a program: every event as a line, then one final line."""

from collections.abc import Iterator
from contextlib import contextmanager

from treadle.cli.output import print_json
from treadle.errors import TreadleError
from treadle.events import Subscription, event_json
from treadle.events.types import SessionCancelled, StopReason, Usage
from treadle.session import SessionOutcome
from treadle.tools.approvals import Approvals


class JsonLines:
    """Prints the events of one request on standard output; the last line is of type `final`."""

    @contextmanager
    def answering(self, _approvals: Approvals) -> Iterator[None]:
        """Nobody answers: what needs approval is refused."""
        yield

    async def follow(self, events: Subscription) -> None:
        """Print every event until the subscription is closed."""
        async for envelope in events:
            print_json(event_json(envelope))
            match envelope.event:
                case SessionCancelled(usage=usage, cost=cost):
                    _final("", usage, cost, 0, StopReason.CANCELLED)
                case _:
                    pass

    def finish(self, outcome: SessionOutcome, trace_id: str) -> None:
        """Print the final line of a request that ended by itself."""
        _final(
            outcome.text,
            outcome.usage,
            outcome.cost,
            outcome.tool_calls,
            outcome.stop_reason,
            trace_id=trace_id,
            sources=[
                {"file": s.file, "start_line": s.start_line, "end_line": s.end_line, "name": s.name}
                for s in outcome.sources
            ],
        )

    def fail(self, error: TreadleError) -> None:
        """Print the final line of a request that failed."""
        _final(
            "",
            Usage(),
            None,
            0,
            StopReason.FAILED,
            error={"message": error.message, "hint": error.hint},
        )


def _final(
    text: str,
    usage: Usage,
    cost: float | None,
    tool_calls: int,
    stop_reason: StopReason,
    **more: object,
) -> None:
    print_json(
        {
            "type": "final",
            "text": text,
            "usage": {
                "input": usage.input,
                "output": usage.output,
                "cached": usage.cached,
                "reasoning": usage.reasoning,
            },
            "cost": cost,
            "tool_calls": tool_calls,
            "stop_reason": stop_reason,
            **more,
        }
    )
