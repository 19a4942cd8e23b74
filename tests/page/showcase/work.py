"""Questions to Treadle's own assistant about the code, and its proposals."""

from typing import Any

from tests.fakes.provider import Reply
from tests.page.served import Served
from tests.page.showcase import repository
from tests.page.showcase.following import ended
from tests.page.showcase.replies import calls, says


def work_on_prices(served: Served) -> tuple[str, str]:
    """Conversations about the code; returns the shown one, and its proposal."""
    _turn(
        served,
        "Which module writes the lines of a receipt?",
        calls("request_code_context", (1_870, 31), hint="lines of a receipt", token_budget=2000),
        says(
            "`voyage.receipts.lines` does: one line for each fare, then the sum.",
            tokens=(2_640, 21),
        ),
    )
    _turn(
        served,
        "Say how many adults and children a line of a receipt is about.",
        calls("apply_code_edit", (2_310, 122), edits=repository.LINE_OF_A_RECEIPT),
        says(
            "The line now names adults and children. It waits for your approval.",
            tokens=(2_590, 19),
        ),
    )
    _decide(served, "approve")
    _turn(
        served,
        "Tell in the README when prices are rounded.",
        calls("apply_code_edit", (1_940, 96), edits=repository.RENAME),
        says("I proposed a sentence for the README.", tokens=(2_120, 11)),
    )
    _decide(served, "deny", words="Not before the change is in.")
    begun = _turn(
        served,
        "Why does the total of nine travellers differ by a cent from what we advertise?",
        calls("request_code_context", (1_910, 42), hint="rounding of prices", token_budget=3000),
        calls("read_file", (3_480, 27), path="src/voyage/fares.py"),
        says(
            "Each price is rounded before it is multiplied:\n\n"
            "```python\n"
            "def adult_price(fare: Fare) -> Decimal:\n"
            '    """What one adult pays."""\n'
            "    return rounded(fare.base * (1 + fare.tax_rate))\n"
            "```\n\n"
            "A seat of €106.9893 becomes €106.99, and nine of them €962.91 instead of €962.90. "
            "Rounding once, in `total`, fixes it; the cart and the receipt then agree by "
            "themselves.",
            tokens=(4_260, 148),
            took=1.2,
        ),
    )
    _turn(
        served,
        "Do that, with a test for the nine.",
        calls("apply_code_edit", (4_610, 512), edits=repository.ROUND_ONCE),
        says(
            "I proposed it: prices of a single traveller stay exact, `total` rounds once, and a "
            "test holds nine adults to €962.90. Nothing is written until you approve.",
            tokens=(5_390, 64),
            took=0.8,
        ),
        session=begun["session_id"],
    )
    return str(begun["session_id"]), _staged(served)


def _turn(served: Served, text: str, *replies: Reply, session: str | None = None) -> Any:
    served.provider.add(*replies)
    begun = served.post("/turns", {"text": text, "session": session})
    return ended(served, begun)


def _staged(served: Served) -> str:
    (proposal,) = served.get("/proposals", state="staged")["data"]
    return str(proposal["id"])


def _decide(served: Served, answer: str, **body: str) -> None:
    served.post(f"/proposals/{_staged(served)}/{answer}", body)
