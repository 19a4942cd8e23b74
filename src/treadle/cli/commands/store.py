"""The command `treadle store`: backs up the stores of an installation, and restores them."""

import argparse
from pathlib import Path

from treadle.app.stores import Stores
from treadle.cli.command import Command, RepositoryUse, set_repository_use
from treadle.cli.output import print_json, print_line, print_text, table
from treadle.database.backup import CopiedFile, back_up, restore
from treadle.errors import UsageError
from treadle.json_values import to_json
from treadle.paths import user_data_dir


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the sub-commands to the parser."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    backup = actions.add_parser(
        "backup", help="copy all SQLite stores to a folder, while programs use them"
    )
    backup.add_argument("folder", type=Path, help="a new or empty folder")
    restoring = actions.add_parser("restore", help="restore a backup in an empty installation")
    restoring.add_argument("folder", type=Path, help="a folder that `treadle store backup` wrote")
    for action in (backup, restoring):
        set_repository_use(action, RepositoryUse.NONE)


def run(options: argparse.Namespace) -> int:
    """Run the chosen sub-command, and return the exit status."""
    if Stores.of_user().url is not None:
        raise UsageError(
            "The stores are in PostgreSQL, so this command cannot copy them.",
            hint="Use pg_dump and pg_restore, as docs/many-machines.md describes.",
        )
    folder: Path = options.folder
    if options.action == "backup":
        copied = back_up(user_data_dir(), folder)
        said = f"Backed up {len(copied)} stores to {folder}."
    else:
        copied = restore(folder, user_data_dir())
        said = f"Restored {len(copied)} stores from {folder}."
    if options.json:
        print_json({"ok": True, "files": to_json(copied)})
        return 0
    print_text(table(_rows(copied), ("STORE", "ROWS", "BYTES")))
    print_line(said)
    return 0


def _rows(copied: list[CopiedFile]) -> list[tuple[str, str, str]]:
    return [(each.name, f"{each.total_rows:,}", f"{each.bytes:,}") for each in copied]


COMMAND = Command("Back up the stores of this installation, and restore them.", configure, run)
