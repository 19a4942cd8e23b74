"""An overlay without rows says whether there is nothing, or whether the filter matches nothing."""

from pathlib import Path

from textual.widgets import Input

from tests.tui.screens.saved import opened, saved
from tests.tui.terminal import Terminal, running

NO_MATCHES = {
    "sessions": "No session matches.",
    "rewind": "No prompt matches.",
    "models": "No model matches.",
    "help": "No key or command matches.",
    "palette": "No action has such a name.",
    "theme": "No theme has such a name.",
}


async def test_a_filter_that_matches_nothing_is_named_as_the_reason(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        session = await saved(terminal, ["first question"])
        workbench = terminal.app._workbench.result()
        terminal.app.show_session(await workbench.conversation(str(session)))
        for action, reason in NO_MATCHES.items():
            await opened(terminal, action)
            terminal.app.screen.query_one(Input).value = "zqzq"
            await terminal.until(lambda reason=reason: reason in terminal.text())  # type: ignore[misc]
            await terminal.pilot.press("escape")


async def test_an_empty_repository_has_other_reasons_with_and_without_a_filter(
    tmp_path: Path,
) -> None:
    (tmp_path / "repo").mkdir()
    async with running(tmp_path) as terminal:
        await empty(terminal, "sessions", "There are no sessions yet.", "No session matches.")
        await empty(terminal, "search", "Type a symbol, a path or a question.", "occurs nowhere")
        await empty(terminal, "checks", "Treadle found no checks", "No check matches.")


async def empty(terminal: Terminal, action: str, reason: str, no_match: str) -> None:
    """Open an overlay without rows, check its reason, and then the reason with a filter."""
    assert await terminal.app.run_named(action)
    await terminal.until(lambda: reason in terminal.text())
    terminal.app.screen.query_one(Input).value = "zqzq"
    await terminal.until(lambda: no_match in terminal.text())
    await terminal.pilot.press("escape")
