"""Writes the tables of keys and commands in docs/terminal.md from the registry of actions."""

import sys
from collections.abc import Iterator
from pathlib import Path

from treadle.tui.actions import Action, Where, actions_in, slash_commands
from treadle.tui.key_bindings import KeySet, key_label, keys_of

PAGE = Path(__file__).resolve().parent.parent / "docs" / "terminal.md"
BEGIN = "<!-- keys: written by `make docs`, do not edit -->"
END = "<!-- end of keys -->"


def with_reference(page: str) -> str:
    """`page` with the text between its two marks replaced."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    reference = "\n".join(_lines())
    return f"{before}{BEGIN}\n\n{reference}\n{END}{after}"


def _lines() -> Iterator[str]:
    yield from ("### Commands", "", "| command | what it does |", "|---|---|")
    for action in slash_commands():
        argument = f" {action.argument}" if action.argument else ""
        yield f"| `/{action.slash}{argument}` | {_cell(action.help)} |"
    yield ""
    for where in Where:
        actions = [action for action in actions_in(where) if action.keys]
        if actions:
            yield from (f"### Keys {where}", "", "| key | vim | emacs | what it does |")
            yield "|---|---|---|---|"
            yield from (_row(action) for action in actions)
            yield ""


def _row(action: Action) -> str:
    vim, emacs = (_keys(action, key_set) for key_set in (KeySet.VIM, KeySet.EMACS))
    default = _keys(action, KeySet.DEFAULT)
    cells = (default, "" if vim == default else vim, "" if emacs == default else emacs)
    title = action.title if action.title.endswith("?") else f"{action.title}."
    return f"| {' | '.join(cells)} | **{_cell(title)}** {_cell(action.help)} |"


def _keys(action: Action, key_set: KeySet) -> str:
    return " ".join(f"`{_cell(key_label(key))}`" for key in keys_of(action, key_set))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> int:
    """Write the page."""
    PAGE.write_text(with_reference(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
