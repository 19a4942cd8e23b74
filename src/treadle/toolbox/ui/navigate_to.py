"""navigate_to: opens a screen in the browser of the person."""

from pydantic import Field

from treadle.events.types import ToolView
from treadle.toolbox.ui.page_replies import NavigationResult, navigate
from treadle.tools.contract import Arguments, Tool, ToolContext, ToolEffect
from treadle.ui.addresses import MAX_CHARACTERS, own_address
from treadle.ui.messages import NavigateTo
from treadle.ui.service import Ui


class NavigateArguments(Arguments):
    """The address to open."""

    url: str = Field(
        min_length=1,
        max_length=MAX_CHARACTERS,
        description="A path of the page, such as /traces/ID?span=ID, /threads/ID, /runs/ID or "
        "/experiments/ID; never an address of another site.",
    )


class NavigateToTool(Tool[NavigateArguments, NavigationResult]):
    """Opens an address of Treadle on the page that the person used most recently."""

    name = "navigate_to"
    description = (
        "Show a screen of Treadle in the person's browser: a trace, span, run, thread, experiment "
        "or list. Links in results of other tools are valid here."
    )
    effect = ToolEffect.UI
    arguments = NavigateArguments
    result = NavigationResult

    def __init__(self, ui: Ui) -> None:
        self._ui = ui

    async def run(self, arguments: NavigateArguments, context: ToolContext) -> NavigationResult:
        url = own_address(arguments.url)
        return await navigate(self._ui, NavigateTo(url=url), url, context)

    def view(self, arguments: NavigateArguments, result: NavigationResult) -> ToolView:  # noqa: ARG002
        return ToolView(result.message)
