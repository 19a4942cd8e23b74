"""The picker of models: what is known about them, the choice, the test and the vendors."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.widgets import Input

from tests.fakes.replies import Answer, Call
from tests.tui.screens.saved import on, opened
from tests.tui.terminal import Terminal, running
from treadle.tui.screens.conversation import ConversationScreen
from treadle.tui.screens.models import ModelsScreen
from treadle.tui.text import foreign_line

SIZES = [(80, 24), (120, 40), (40, 10)]
MODELS = (
    "fake-model",
    {
        "id": "maker/able", "context_length": 200_000, "supported_parameters": ["tools"],
        "architecture": {"input_modalities": ["text", "image"]},
    },
    {"id": "maker/plain", "context_length": 8_000, "supported_parameters": []},
)  # fmt: skip
VENDORS = {
    "maker/able": [
        {
            "provider_name": "[b]Vendor[/]", "context_length": 100_000, "quantization": "fp8",
            "pricing": {"prompt": "0.000001", "completion": "0.000002"},
            "supported_parameters": ["tools"], "uptime_last_30m": 99.5,
        }
    ]
}  # fmt: skip


def configured(folder: Path, text: str) -> Path:
    """Write the configuration of the person."""
    file = folder / "home" / "config" / "config.toml"
    file.parent.mkdir(parents=True, mode=0o700)
    file.write_text(text)
    return file


def filter_by(terminal: Terminal, text: str) -> None:
    terminal.app.screen.query_one(Input).value = text


async def highlighted(terminal: Terminal, name: str) -> None:
    """Wait until a model is highlighted."""

    def holds() -> bool:
        screen = terminal.app.screen
        value = screen.highlighted if isinstance(screen, ModelsScreen) else None
        return value is not None and value.name == name

    await terminal.until(holds)


@pytest.mark.parametrize("size", SIZES)
async def test_chosen_model_answers_the_next_message_of_the_conversation(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    replies = [Answer("one"), Answer("two")]
    async with running(tmp_path, replies, size=size, models=MODELS) as terminal:
        await terminal.ask("a")
        await opened(terminal, "models")
        filter_by(terminal, "images")
        await highlighted(terminal, "custom/maker/able")
        await terminal.pilot.press("enter")
        await on(terminal, ConversationScreen)
        await terminal.ask("b")
    assert [request.body["model"] for request in terminal.provider.requests] == [
        "fake-model", "maker/able",
    ]  # fmt: skip
    assert len(terminal.provider.requests[1].messages) > len(terminal.provider.requests[0].messages)


async def test_unknown_facts_are_shown_as_unknown(tmp_path: Path) -> None:
    async with running(tmp_path, size=(120, 40), models=MODELS) as terminal:
        await opened(terminal, "models")
        filter_by(terminal, "able")
        await terminal.until(lambda: "images   yes" in terminal.text())
        assert "tools    yes" in terminal.text()
        assert "200,000 tokens" in terminal.text()
        filter_by(terminal, "plain")
        await terminal.until(lambda: "tools    no" in terminal.text())
        assert "images   unknown" in terminal.text()
        filter_by(terminal, "fake")
        await terminal.until(lambda: "context  unknown" in terminal.text())


async def test_provider_that_does_not_answer_is_listed_with_the_reason(tmp_path: Path) -> None:
    configured(tmp_path, '[providers.gone]\nbase_url = "http://127.0.0.1:9/v1"\n')
    async with running(tmp_path, size=(120, 40)) as terminal:
        await opened(terminal, "models")
        await terminal.until(lambda: "✗ gone: " in terminal.text())
        filter_by(terminal, "gone")
        await highlighted(terminal, "gone")
        await terminal.pilot.press("enter")
        await terminal.until(lambda: "gone cannot be used: " in terminal.text())


async def test_saved_model_keeps_the_comments_of_the_configuration(tmp_path: Path) -> None:
    file = configured(tmp_path, "# mine\n[limits] # of a question\ncost = 1.0 # dollars\n")
    async with running(tmp_path, models=MODELS) as terminal:
        await opened(terminal, "models")
        filter_by(terminal, "plain")
        await highlighted(terminal, "custom/maker/plain")
        await terminal.pilot.press("ctrl+s")
        await on(terminal, ConversationScreen)
        assert terminal.app._choices.model == "custom/maker/plain"
    assert file.read_text() == (
        '# mine\nmodel = "custom/maker/plain"\n\n[limits] # of a question\ncost = 1.0 # dollars\n'
    )


async def test_key_tests_the_model(tmp_path: Path) -> None:
    call = Call("request_code_context", '{"token_budget": 800}')
    async with running(tmp_path, [Answer("", calls=[call])], size=(120, 40)) as terminal:
        await opened(terminal, "models")
        filter_by(terminal, "fake")
        await highlighted(terminal, "custom/fake-model")
        await terminal.pilot.press("ctrl+t")
        await terminal.until(lambda: "custom/fake-model called the tool in" in terminal.text())


async def test_vendors_of_a_router_are_shown(tmp_path: Path) -> None:
    async with running(tmp_path, size=(120, 40), models=MODELS, vendors=VENDORS) as terminal:
        await opened(terminal, "models")
        filter_by(terminal, "able")
        await highlighted(terminal, "custom/maker/able")
        await terminal.pilot.press("ctrl+o")
        await terminal.until(lambda: "[b]Vendor[/]  $1/$2, 100k, tools, fp8" in terminal.text())
        filter_by(terminal, "plain")
        await highlighted(terminal, "custom/maker/plain")
        await terminal.pilot.press("ctrl+o")
        await terminal.until(lambda: "custom lists no vendors" in terminal.text())


@given(st.lists(st.text(min_size=1), min_size=1, max_size=8))
@settings(max_examples=3, deadline=None)
def test_any_model_name_is_shown_literally(
    tmp_path_factory: pytest.TempPathFactory, names: list[str]
) -> None:
    hostile = ["[/]", "[b", "[@click=app.quit]x[/]", "\x1b[2J", "a\x00b", "x" * 5_000]

    async def show() -> str:
        folder = tmp_path_factory.mktemp("terminal")
        models = [*names, *hostile]
        async with running(folder, size=(120, 50), models=models) as terminal:
            await opened(terminal, "models")
            return terminal.text()

    shown = asyncio.run(show())
    for name in [*names, *hostile]:
        expected = foreign_line(name, columns=60).truncate(20).plain.strip()
        assert expected in shown
