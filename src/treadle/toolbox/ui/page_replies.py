"""Helpers of the tools that control the page: navigate, and read the reply of the page."""

from typing import Annotated

from pydantic import Field

from treadle.tools.contract import Result, ToolContext
from treadle.ui.messages import Done, NavigateTo, NavigateToExperiment
from treadle.ui.service import Reply, Ui
from treadle.ui.state import Change

SpanId = Annotated[str, Field(min_length=1, max_length=500)]

_NO_PAGE = "No page is connected, so nobody saw it"
_NO_ANSWER = "The page received the request and did not answer in time"


class NavigationResult(Result):
    """The outcome of a navigation.

    `success` is false if the page refused the address. `navigated` is true if the page shows the
    address. If `success` is true but `navigated` is false, the next page that opens shows the
    address. `page` is the id of the page that received the request, or null if no page is open.
    """

    type: str = "navigation"
    success: bool
    url: str
    navigated: bool
    message: str
    page: str | None = None


async def navigate(
    ui: Ui, request: NavigateTo | NavigateToExperiment, url: str, context: ToolContext
) -> NavigationResult:
    """Ask the page to open `url`, and save `url` as the last address unless the page refuses."""
    reply = await ui.ask(request, request_id=context.request_id)
    reason = refusal(reply)
    if reason is None:
        await ui.change(Change(location=url), by=reply.page if done(reply) else None)
    return NavigationResult(
        success=reason is None,
        url=url,
        navigated=done(reply),
        message=reason or outcome_text(reply, f"The page shows {url}", f"it opens at {url}"),
        page=reply.page,
    )


def done(reply: Reply) -> bool:
    """Whether a page reports that it fulfilled the request."""
    return isinstance(reply.answer, Done) and reply.answer.success


def refusal(reply: Reply) -> str | None:
    """Return the reason why a page refused the request, or None if no page refused."""
    if not isinstance(reply.answer, Done) or reply.answer.success:
        return None
    return reply.answer.error or "The page refused the request without a reason."


def outcome_text(reply: Reply, shown: str, otherwise: str) -> str:
    """Return the sentence `shown` if a page fulfilled the request.

    Otherwise return the reason why no page did, followed by `otherwise`.
    """
    if done(reply):
        return f"{shown}."
    return f"{_NO_PAGE if reply.page is None else _NO_ANSWER}: {otherwise}."
