"""Takes the pictures of docs/terminal.md, from a real run of the terminal with a fake provider.

make pictures                               all of them
python -m scripts.picture_terminal search   those whose names begin so
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.fakes.replies import Answer, Call
from tests.tui.approvals.asking import stop
from tests.tui.pictures import Picture
from tests.tui.terminal import Terminal, running

FOLDER = Path(__file__).parents[1] / "docs" / "images" / "terminal"
SIZE = (100, 30)
SOURCE = '''"""Prices of a basket."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Item:
    """A product and the number of pieces."""

    name: str
    cents: int
    pieces: int = 1


def total(items: list[Item], discount: float = 0.0) -> int:
    """The price of all items in cents, after a discount."""
    whole = sum(item.cents * item.pieces for item in items)
    return int(whole * (1 - discount))
'''
EXPLAINED = """`total` adds up the price of each item and takes off the discount:

```python
whole = sum(item.cents * item.pieces for item in items)
return int(whole * (1 - discount))
```

`int` cuts off parts of a cent. A discount of 10 % on 99 cents gives **89**, not 90.
"""
EDIT = {
    "edits": [
        {
            "file": "basket.py",
            "replace": {
                "old": "return int(whole * (1 - discount))",
                "new": "return round(whole * (1 - discount))",
            },
        }
    ]
}
REPLIES = (
    Answer("I read the function first.", (Call("read_file", {"path": "basket.py"}),)),
    Answer(EXPLAINED),
    Answer("I round to the nearest cent instead.", (Call("apply_code_edit", EDIT),)),
)


async def take(folder: Path, wanted: tuple[str, ...]) -> None:
    """Run the terminal, and take the pictures on the way."""

    async def keep(terminal: Terminal, name: str) -> None:
        await terminal.pilot.pause(0.5)
        if name.startswith(wanted):
            picture = Picture.of(terminal.app, exact=True)
            (folder / f"{name}.svg").write_text(picture.svg(), encoding="utf-8")
            sys.stderr.write(f"{name}\n")

    with tempfile.TemporaryDirectory() as base:
        root = Path(base) / "repo"
        root.mkdir()
        (root / "basket.py").write_text(SOURCE)
        async with running(Path(base), REPLIES, size=SIZE) as terminal:
            await terminal.ask("How is the total of a basket rounded?")
            await keep(terminal, "answer")
            for name, keys, shown in OVERLAYS:
                await terminal.pilot.press(*keys)
                await shows(terminal, shown)
                await keep(terminal, name)
                await terminal.pilot.press("escape")
            await edit(terminal, keep)


OVERLAYS = (
    ("search", ("ctrl+f", *"total"), "basket.py"),
    ("palette", ("ctrl+p",), "Command palette"),
    ("trace", ("ctrl+t",), "read_file"),
)
"""Overlays, the keys that open them, and a text that they show."""


async def edit(terminal: Terminal, keep: Callable[[Terminal, str], Awaitable[None]]) -> None:
    """Propose an edit, and show its diff."""
    await terminal.write("Round it to the nearest cent.")
    await terminal.pilot.press("enter")
    await shows(terminal, "waiting for your approval")
    await terminal.pilot.press("tab")
    await shows(terminal, "hunk 1 of 1")
    await keep(terminal, "proposal")
    await terminal.pilot.press("escape")
    await stop(terminal)


async def shows(terminal: Terminal, text: str) -> None:
    """Wait until the terminal shows a text."""
    await terminal.until(lambda: text in terminal.text())


def main() -> None:
    """Take them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="beginnings of the names of pictures")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where to put them")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    asyncio.run(take(given.folder, tuple(given.names) or ("",)))


if __name__ == "__main__":
    main()
