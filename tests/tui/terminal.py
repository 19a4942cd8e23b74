"""Runs the terminal of a small repository with a fake provider, without a real terminal."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.fakes.provider import FakeProvider, Reply
from tests.tui.real_terminal import PATIENCE
from treadle.app.choices import Choices
from treadle.clock import Clock
from treadle.config.loader import load
from treadle.tui.app import TerminalApp
from treadle.tui.conversation.items import OutcomeItem
from treadle.tui.local_workbench import LocalWorkbench
from treadle.tui.prompt.files import PromptFiles
from treadle.tui.workbench import Workbench


@dataclass(frozen=True, slots=True)
class Terminal:
    """A terminal that runs, the pilot that presses its keys, and its provider."""

    app: TerminalApp
    pilot: Pilot[None]
    provider: FakeProvider
    root: Path

    async def write(self, text: str) -> None:
        """Type a text into the focused widget."""
        await self.pilot.press(*(_KEYS.get(character, character) for character in text))

    async def ask(self, text: str) -> None:
        """Send a message, and wait for the end of its turn."""
        ended = self._ended() + 1
        await self.write(text)
        await self.pilot.press("enter")
        await self.until(lambda: self._ended() == ended)

    async def enter(self, text: str) -> None:
        """Enter a text that is not a message."""
        await self.write(text)
        await self.pilot.press("enter")

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until a condition holds."""
        loop = asyncio.get_running_loop()
        latest = loop.time() + PATIENCE
        while loop.time() < latest:
            await self.pilot.pause(0.01)
            if holds():
                await self.pilot.pause(0.05)
                return
        raise AssertionError(f"The condition did not become true within {PATIENCE:.0f} s.")

    def text(self) -> str:
        """The lines that the terminal shows."""
        width, _ = self.app.size
        strips = self.app.screen._compositor.render_strips()
        return "\n".join(strip.crop(0, width).text.rstrip() for strip in strips)

    def _ended(self) -> int:
        return sum(isinstance(item, OutcomeItem) for item in self.app.state.items)


_KEYS = {" ": "space", "\n": "ctrl+j", "?": "question_mark", "/": "slash", ".": "full_stop"}


@asynccontextmanager
async def running(
    folder: Path,
    replies: Sequence[Reply] = (),
    *,
    size: tuple[int, int] = (80, 24),
    clock: Clock | None = None,
    models: Sequence[str | Mapping[str, object]] = ("fake-model",),
    vendors: Mapping[str, Sequence[Mapping[str, object]]] | None = None,
    may_open: asyncio.Event | None = None,
) -> AsyncIterator[Terminal]:
    """Run the terminal in `folder / "repo"`, which is created if it does not exist.

    The block begins when the repository is open. With `may_open`, the block begins at once, and
    the repository opens after this event. The test leaves the block after all turns have ended.
    """
    root = folder / "repo"
    if not root.exists():
        root.mkdir()
        (root / "calc.py").write_text(
            'def add(left, right):\n    """Sum of two numbers."""\n    return left + right\n'
        )
    async with FakeProvider(replies, models=models, vendors=vendors, strict=False) as provider:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TREADLE_HOME", str(folder / "home"))
            patch.setenv("TREADLE_BASE_URL", provider.base_url)
            patch.setenv("TREADLE_API_KEY", "key")
            settings = load(root, {"TREADLE_MODEL": "fake-model"}, {}).settings

            @asynccontextmanager
            async def opening() -> AsyncIterator[Workbench]:
                if may_open is not None:
                    await may_open.wait()
                async with LocalWorkbench.open(root, settings) as workbench:
                    yield workbench

            app = TerminalApp(
                opening,
                choices=Choices(),
                clock=clock,
                prompt_files=PromptFiles.of(str(root)),
            )
            async with app.run_test(size=size, notifications=True) as pilot:
                terminal = Terminal(app, pilot, provider, root)
                if may_open is None:
                    await terminal.until(lambda: app.is_open)
                yield terminal
            await app.close_workbench()
