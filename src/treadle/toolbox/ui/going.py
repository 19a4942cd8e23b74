"""Opens an address on a page, and reports the outcome."""

from treadle.toolbox.ui.screen import done, refusal, told
from treadle.tools.contract import Result, ToolContext
from treadle.ui.messages import NavigateTo, NavigateToExperiment
from treadle.ui.service import Ui
from treadle.ui.state import Change


class Went(Result):
    """Whether the address is good, and whether a page shows it now (`page` is the one told).

    `success` without `navigated` means that the page shows it when it is opened.
    """

    type: str = "navigation"
    success: bool
    url: str
    navigated: bool
    message: str
    page: str | None = None


async def go(
    ui: Ui, request: NavigateTo | NavigateToExperiment, url: str, context: ToolContext
) -> Went:
    """Ask the page for it, and keep the address as the one that was shown last."""
    reply = await ui.ask(request, request_id=context.request_id)
    refused = refusal(reply)
    if refused is None:
        await ui.change(Change(location=url), by=reply.page if done(reply) else None)
    return Went(
        success=refused is None,
        url=url,
        navigated=done(reply),
        message=refused or told(reply, f"The page shows {url}", f"it opens at {url}"),
        page=reply.page,
    )
