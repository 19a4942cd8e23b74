"""What the command line and the server both answer with: the JSON of the contract."""

from typing import TYPE_CHECKING, Unpack

if TYPE_CHECKING:
    from treadle.app import answer_shapes as shapes
    from treadle.events.types import StopReason, Usage
    from treadle.session import SessionOutcome


def final_answer(
    text: str,
    usage: "Usage",
    cost: float | None,
    tool_calls: int,
    stop_reason: "StopReason",
    **more: "Unpack[shapes.MoreOfFinal]",
) -> "shapes.Final":
    """What a turn ends with, however it ends."""
    return {
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


def outcome_answer(outcome: "SessionOutcome", trace_id: str) -> "shapes.Final":
    """What a turn that ended by itself ends with."""
    return final_answer(
        outcome.text,
        outcome.usage,
        outcome.cost,
        outcome.tool_calls,
        outcome.stop_reason,
        trace_id=trace_id,
        sources=[
            {
                "file": s.file,
                "start_line": s.start_line,
                "end_line": s.end_line,
                "name": s.name,
                "stale": s.stale,
            }
            for s in outcome.sources
        ],
        quotes=[
            {
                "file": q.file,
                "start_line": q.start_line,
                "end_line": q.end_line,
                "start_byte": q.start,
                "end_byte": q.end,
                "verdict": q.verdict,
            }
            for q in outcome.quotes
        ],
    )
