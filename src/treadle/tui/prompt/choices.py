"""The choices for the word at the cursor: code of the repository, or commands of the terminal."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from treadle.tui.actions import Action, slash_commands
from treadle.tui.prompt.completion_list import Choice
from treadle.tui.prompt.draft import Chip, ImageFile
from treadle.tui.prompt.images import is_image
from treadle.tui.prompt.tokens import Token, TokenKind
from treadle.tui.workbench import Workbench

if TYPE_CHECKING:  # not imported at run time, so that the first screen starts sooner
    from treadle.app.completion import Completion


async def find_choices(workbench: Workbench | None, token: Token) -> Sequence[Choice]:
    """The choices for a word. Without a workbench, only commands are known."""
    if token.kind is TokenKind.COMMAND:
        return _commands(token.text, slash_commands())
    if workbench is None:
        return ()
    return [_code(each, workbench) for each in await workbench.complete(token.text)]


def _code(completion: "Completion", workbench: Workbench) -> Choice:
    if completion.attachment is None:  # a folder
        return Choice(completion.name, completion.kind, "", text=f"@{completion.name}")
    chip: Chip = completion.attachment
    if completion.kind == "file" and workbench.address is None and is_image(completion.name):
        chip = ImageFile(f"{workbench.root}/{completion.name}")
    return Choice(completion.name, completion.kind, completion.place, chip=chip)


def _commands(typed: str, actions: Iterable[Action]) -> Sequence[Choice]:
    """The commands that begin with `typed`, and then those that contain it."""
    found = [action for action in actions if typed in str(action.slash)]
    found.sort(key=lambda action: not str(action.slash).startswith(typed))
    return [
        Choice(
            f"/{action.slash} {action.argument or ''}".rstrip(),
            "",
            action.help,
            text=f"/{action.slash} " if action.argument else f"/{action.slash}",
            submits=action.argument is None,
        )
        for action in found
    ]
