"""Pictures of overlays whose data a real repository does not repeat."""

import time
from collections.abc import Iterator, Mapping
from typing import Any, cast
from uuid import UUID

import pytest
from textual.app import App
from textual.screen import Screen
from textual.widgets import Input

from tests.tui.pictures import check_picture
from treadle.app.conversation_answers import Session
from treadle.app.model_catalog import ListedModel, ListedModels, ModelList, TokenPrices
from treadle.app.rewind_plan import CodePlan, Conflict, PlannedFile, RewindPlan
from treadle.edits.model import ChangeKind
from treadle.events.types import StopReason
from treadle.llm.messages import AssistantMessage, UserMessage
from treadle.session import Conversation, Entry
from treadle.session.rewinds import RewindScope
from treadle.tui.conversation.branches import current_exchanges
from treadle.tui.screens.branches import BranchesScreen
from treadle.tui.screens.models import ModelsScreen
from treadle.tui.screens.rewind_plan import RewindPlanScreen
from treadle.tui.themes import THEMES
from treadle.tui.workbench import Workbench

DAY = 86_400_000_000
START = 20_000 * DAY
ID = UUID("01890000-0000-7000-8000-000000000001")
OTHER = UUID("01890000-0000-7000-8000-000000000002")
LOOKS = {
    "120x40": ((120, 40), "dark"),
    "40x10": ((40, 10), "dark"),
    "80x24": ((80, 24), "dark"),
    "light": ((80, 24), "light"),
    "ansi": ((80, 24), "ansi"),
}


def session() -> Session:
    """A conversation with two branches."""

    def turn(number: int, parent: int | None, text: str) -> list[Entry]:
        at = START + number * DAY
        asked = Entry(UserMessage(text), at, number, parent, stop_reason=StopReason.COMPLETED)
        reply = AssistantMessage(f"The answer to “{text}”.\n\n- one\n- [b]two[/]")
        return [asked, Entry(reply, at, number + 1, number)]

    first, other = turn(0, None, "How are calls matched?"), turn(2, 1, "Rename the key")
    last = turn(4, 1, "Why does [/] stay?")
    conversation = Conversation(
        ID, "/repo", "openai/gpt", START, START, "How are calls matched?", [*first, *last], 6
    )
    return Session.of(conversation, [*first, *other, *last])


class Data:
    """Returns the same values each time."""

    async def models(self) -> ModelList:
        prices = TokenPrices(0.25, 2.0, 0.025, None, None, 0.0, stepped=False)
        able = ListedModel("gpt-mini", 400_000, prices, takes_tools=True, takes_images=True)
        plain = ListedModel("[b]unknown[/]", None, None, takes_tools=None, takes_images=None)
        local = ListedModel("qwen", 32_768, None, takes_tools=None, takes_images=False)
        return ModelList(
            [
                ListedModels("gone", None, False, "gone needs a key.", None, ()),
                ListedModels("openai", "https://api.example/v1", True, None, 0.2, (able, plain)),
                ListedModels("ollama", "http://127.0.0.1:11434/v1", True, None, 0.1, (local,)),
            ],
            "list",
        )

    async def plan_rewind(self, _: UUID, prompt: int, scope: RewindScope) -> RewindPlan:
        diff = "--- a/src/key.py\n+++ b/src/key.py\n@@ -1,2 +1,2 @@\n def key():\n-    a\n+    b\n"
        kind = next(iter(ChangeKind))
        file = PlannedFile("src/key.py", kind, None, 1, 1, diff, True, "src/key.py is reverted.")
        conflict = Conflict(OTHER, "src/[b].py", "Line 3 was changed since.")
        code = CodePlan((), (file,), (conflict,)) if scope.undoes_code else CodePlan()
        return RewindPlan(ID, prompt, "", (), (), scope, 1, 2, code, ("A command ran: make.",))


WORKBENCH = cast("Workbench", Data())


def screens() -> Mapping[str, Screen[Any]]:
    first = current_exchanges(session())[0]
    return {
        "branches": BranchesScreen(WORKBENCH, session()),
        "models": ModelsScreen(WORKBENCH, "ollama/qwen"),
        "rewind-conflict": RewindPlanScreen(WORKBENCH, ID, first),
    }


class Window(App[None]):
    """Shows one overlay in a theme of the terminal."""

    def __init__(self, screen: Screen[Any], theme: str) -> None:
        super().__init__()
        for each in THEMES.values():
            self.register_theme(each)
        self.theme = theme
        self._overlay = screen

    async def on_mount(self) -> None:
        await self.push_screen(self._overlay)


@pytest.fixture(autouse=True)
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", list(screens()))
async def test_overlay_looks_as_stored(name: str, look: str) -> None:
    size, theme = LOOKS[look]
    app = Window(screens()[name], theme)
    async with app.run_test(size=size) as pilot:
        for _ in range(3):
            await app.workers.wait_for_complete()
            await pilot.pause()
        for field in app.screen.query(Input):
            field.cursor_blink = False
        check_picture(app, f"{name}-{look}")
