"""Pictures of overlays whose data a real repository does not repeat."""

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast
from uuid import UUID

import pytest
from textual.app import App
from textual.screen import Screen
from textual.widgets import Input

from tests.tui.pictures import Picture, check_picture
from treadle.app.conversation_answers import Session
from treadle.app.model_catalog import ListedModel, ListedModels, ModelList, TokenPrices
from treadle.app.permissions import Permission
from treadle.app.rewind_plan import CodePlan, Conflict, PlannedFile, RewindPlan
from treadle.checks.model import (
    Check,
    CheckRun,
    CheckStatus,
    Diagnostic,
    Reading,
    Severity,
)
from treadle.checks.runner import TakeLine
from treadle.display.trace_tree import TraceView, view_trace
from treadle.edits.model import ChangeKind
from treadle.events.types import ApprovalScope, StopReason
from treadle.llm.messages import AssistantMessage, UserMessage
from treadle.processes.output import Output
from treadle.session import Conversation, Entry
from treadle.session.rewinds import RewindScope
from treadle.spans.span import Span, SpanKind, SpanStatus, Trace
from treadle.tools.approvals.question import Program
from treadle.tui.conversation.branches import current_exchanges
from treadle.tui.screens.branches import BranchesScreen
from treadle.tui.screens.checks import CheckScreen, ChecksScreen, ConsentScreen
from treadle.tui.screens.models import ModelsScreen
from treadle.tui.screens.permissions import PermissionsScreen
from treadle.tui.screens.rewind_plan import RewindPlanScreen
from treadle.tui.screens.trace import TraceScreen
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

    async def checks(self) -> Sequence[Check]:
        tests = Check("tests", ("make", "test"), "test", "Makefile", 600)
        return [tests, Check("ruff", ("ruff", "check", "."), "lint", "pyproject.toml", 120)]

    async def program_to_allow(self, _: Check) -> None:
        return None

    async def run_check(self, check: Check, take_line: TakeLine, **_: object) -> CheckRun:
        """The check "tests" fails, "ruff" passes, and any other check does not end."""
        take_line("collecting [/] the tests")
        take_line("F" + "." * 30)
        failed = check.name == "tests"
        if not failed and check.name != "ruff":
            await asyncio.Event().wait()
        found = (
            Diagnostic("src/key.py", 3, Severity.ERROR, "expected [b], got b", 5, "E1"),
            Diagnostic("src/a/long/path/of/a/file.py", 120, Severity.WARNING, "unused name"),
        )
        reading = Reading(found, 2, {"failed": 2, "passed": 29}) if failed else Reading()
        status = CheckStatus.FAILED if failed else CheckStatus.PASSED
        return CheckRun(check, check.command(), status, int(failed), 2.5, reading, Output())

    async def permissions(self, conversation: UUID) -> Sequence[Permission]:
        return [
            Permission("1", ApprovalScope.ALWAYS, None, "run", "Run `make test` [/].", START),
            Permission("2", ApprovalScope.SESSION, conversation, "edit", "Edit any file.", None),
        ]

    async def trace_view(self, _: str) -> TraceView:
        return view_trace(Trace("0" * 32, tuple(SPANS)))

    async def span(self, _: str, span_id: str) -> Span:
        return next(span for span in SPANS if span.span_id == span_id)


WORKBENCH = cast("Workbench", Data())
QUICK, SLOW, ENDLESS = (
    Check(name, ("make", name), "test", "Makefile", 600) for name in ("ruff", "tests", "build")
)


def _span(number: int, parent: int | None, kind: SpanKind, name: str, **values: object) -> Span:
    fields = {
        "trace_id": "0" * 32, "span_id": f"{number:016x}", "kind": kind, "operation": "chat",
        "name": name, "status": SpanStatus.OK,
        "parent_id": None if parent is None else f"{parent:016x}",
        "start_us": START + number * 400_000, "end_us": START + number * 400_000 + 700_000,
    }  # fmt: skip
    return Span(**fields | values)  # type: ignore[arg-type]


SPANS = [
    _span(0, None, SpanKind.RUN, "How are [/] calls matched?", end_us=START + 2_000_000,
          input="How are [/] calls matched?", output="By their **keys**."),
    _span(1, 0, SpanKind.MODEL, "chat gpt", model="gpt", provider="openai"),
    _span(2, 0, SpanKind.TOOL, "read_file", input='{"path": "src/key.py"}', output="1 def key():"),
    _span(3, 0, SpanKind.TOOL, "grep", status=SpanStatus.ERROR, error="[b] is not a pattern."),
    _span(4, 0, SpanKind.MODEL, "chat gpt", model="gpt", provider="openai"),
]  # fmt: skip


def screens() -> Mapping[str, Screen[Any]]:
    first = current_exchanges(session())[0]
    return {
        "branches": BranchesScreen(WORKBENCH, session()),
        "models": ModelsScreen(WORKBENCH, "ollama/qwen"),
        "rewind-conflict": RewindPlanScreen(WORKBENCH, ID, first),
        "checks": ChecksScreen(WORKBENCH),
        "check-passed": CheckScreen(WORKBENCH, QUICK),
        "check-failed": CheckScreen(WORKBENCH, SLOW),
        "check-running": CheckScreen(WORKBENCH, ENDLESS),
        "consent": ConsentScreen(SLOW, Program(".venv/bin/make", inside=True)),
        "permissions": PermissionsScreen(WORKBENCH, ID),
        "trace": TraceScreen(WORKBENCH, "0" * 32),
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
            if name != "check-running":
                await app.workers.wait_for_complete()
            await pilot.pause()
        while name == "check-running" and "Running" not in str(Picture.of(app).lines):
            await pilot.pause(0.02)
        for field in app.screen.query(Input):
            field.cursor_blink = False
        check_picture(app, f"{name}-{look}")
