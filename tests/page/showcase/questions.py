"""The questions to the analyst about the trips, and its answers."""

from tests.fakes.provider import Reply
from tests.page.served import Served
from tests.page.showcase.following import ended
from tests.page.showcase.replies import calls
from tests.page.showcase.trips import Trips


def ask_the_analyst(served: Served, past: Trips) -> str:
    """Conversations with the analyst; returns the newest, about a tool that timed out."""
    _asked(
        served,
        "Which labels exist?",
        {},
        calls("call_data", task="List the labels."),
        calls("list_labels"),
        calls("final", answer="There are four: `search`, `checkout`, `eval` and `beta`."),
        calls("final", pass_on="data"),
    )
    refund = past.refund
    _asked(
        served,
        "Was KX4T2P really refunded?",
        {"trace_id": refund.trace_id},
        calls("call_data", task="Check the refund."),
        calls("get_span_content", spanIds=[refund.span_id]),
        calls(
            "final",
            answer=f"No. [The refund]({refund.path}) ended with status ok, but it says "
            '"refund rejected: the fare was changed after ticketing".',
        ),
        calls("final", pass_on="data"),
    )
    timeout, slow = past.timeout, past.slow_answer
    answer = (
        "The run succeeded in 24 s; 9 s of them were lost on one tool.\n\n"
        f"1. **A tool that did not answer: 8.0 s.** [book_hotel]({timeout.path}) ended with "
        '"no answer from reservations.casadolargo.example after 8000 ms". The second try took '
        "2.5 s. A limit of 4 s and a retry inside of the tool would save a call of the model too."
        "\n"
        f"2. **A slow last answer: 6.9 s.** [The last call]({slow.path}) wrote only 143 tokens; "
        "other calls of gpt-5.4 in this thread took 1.3 to 3.6 s.\n\n"
        "There is one booking, not two: the first try never reached the hotel."
    )
    return _asked(
        served,
        "What made this run slow?",
        {"trace_id": past.booking.trace_id},
        calls("call_data", task="Find what took longest in the run lisbon-booking, and why."),
        calls("fetch_spans_summary", runIds=["lisbon-booking"]),
        calls("get_span_content", spanIds=[timeout.span_id]),
        calls("final", (3_920, 211), answer=answer),
        calls("final", pass_on="data"),
    )


def _asked(served: Served, question: str, context: dict[str, str], *replies: Reply) -> str:
    served.provider.add(*replies)
    body = {"question": question, "context": context}
    turn = ended(served, served.post("/agents/orchestrator/ask", body))
    return str(turn["conversation_id"])
