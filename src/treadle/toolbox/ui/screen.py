"""What the tools that speak to the page have in common."""

from typing import Annotated

from pydantic import Field

from treadle.ui.messages import Done
from treadle.ui.service import Reply

SpanId = Annotated[str, Field(min_length=1, max_length=500)]

_NO_PAGE = "No page is connected, so nobody saw it"
_NO_ANSWER = "The page received the request and did not answer in time"


def done(reply: Reply) -> bool:
    """Whether a page says that it did what it was asked."""
    return isinstance(reply.answer, Done) and reply.answer.success


def refusal(reply: Reply) -> str | None:
    """Why a page did not do it; None where it did, or said nothing."""
    if not isinstance(reply.answer, Done) or reply.answer.success:
        return None
    return reply.answer.error or "The page refused the request without a reason."


def told(reply: Reply, shown: str, otherwise: str) -> str:
    """The outcome in a sentence: `shown`, else why nobody saw it and `otherwise`."""
    if done(reply):
        return f"{shown}."
    return f"{_NO_PAGE if reply.page is None else _NO_ANSWER}: {otherwise}."
