"""navigate_to: show a person a screen of the page."""

from pydantic import Field

from treadle.events.types import ToolView
from treadle.toolbox.ui.going import Went, go
from treadle.tools.contract import Arguments, Tool, ToolContext, ToolEffect
from treadle.ui.addresses import MOST_CHARACTERS, own_address
from treadle.ui.messages import NavigateTo
from treadle.ui.service import Ui


class NavigateArguments(Arguments):
    """Where to."""

    url: str = Field(
        min_length=1,
        max_length=MOST_CHARACTERS,
        description="A path of the page, such as /traces/ID?span=ID, /threads/ID, /runs/ID or "
        "/experiments/ID; never an address of another site.",
    )


class NavigateToTool(Tool[NavigateArguments, Went]):
    """Sends the page that a person used last to an address of its own."""

    name = "navigate_to"
    description = (
        "Show a screen of Treadle in the person's browser: a trace, span, run, thread, experiment "
        "or list. Links in results of other tools are valid here."
    )
    effect = ToolEffect.UI
    arguments = NavigateArguments
    result = Went

    def __init__(self, ui: Ui) -> None:
        self._ui = ui

    async def run(self, arguments: NavigateArguments, context: ToolContext) -> Went:
        url = own_address(arguments.url)
        return await go(self._ui, NavigateTo(url=url), url, context)

    def view(self, arguments: NavigateArguments, result: Went) -> ToolView:  # noqa: ARG002
        return ToolView(result.message)
