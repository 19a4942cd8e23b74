"""The command `treadle store`: examines, upgrades, copies, backs up and restores the stores."""

import argparse
from pathlib import Path

from treadle.app.local_audit import record
from treadle.app.stores import Stores
from treadle.cli.command import Command, RepositoryUse, set_repository_use
from treadle.cli.output import print_json, print_line, print_text, report_line, table
from treadle.cli.progress import RowCounter
from treadle.database.address import DEFAULT_PROJECT
from treadle.database.backup import CopiedFile, back_up, restore
from treadle.errors import UsageError
from treadle.identity.identity import require_project_name
from treadle.identity.records import Action
from treadle.identity.store import IdentityStore
from treadle.json_values import to_json
from treadle.paths import user_data_dir

_PROJECT_HELP = ("the project (default: all projects)", "the project (default: default)")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the sub-commands to the parser."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    backup = actions.add_parser(
        "backup", help="copy all SQLite stores to a folder, while programs use them"
    )
    backup.add_argument("folder", type=Path, help="a new or empty folder")
    restoring = actions.add_parser("restore", help="restore a backup in an empty installation")
    restoring.add_argument("folder", type=Path, help="a folder that `treadle store backup` wrote")
    checking = actions.add_parser(
        "check", help="examine all stores: their versions, tables, access rules and sums"
    )
    checking.add_argument(
        "--deep", action="store_true", help="compare the sums with a recount of all spans"
    )
    migrating = actions.add_parser(
        "migrate", help="upgrade the tables of all stores to this version of Treadle"
    )
    copying = actions.add_parser("copy", help="copy all stores of a project to another database")
    place = "sqlite:FOLDER or postgresql://HOST/NAME (default: the place in the settings)"
    copying.add_argument("--from", dest="source", metavar="PLACE", help=place)
    copying.add_argument("--to", dest="target", metavar="PLACE", help=place)
    for action in (checking, migrating, copying):
        action.add_argument("--project", metavar="NAME", help=_PROJECT_HELP[action is copying])
    for action in (backup, restoring, checking, migrating, copying):
        set_repository_use(action, RepositoryUse.NONE)


def run(options: argparse.Namespace) -> int:
    """Run the chosen sub-command, and return the exit status."""
    if options.action == "check":
        return _check(options)
    if options.action == "migrate":
        return _migrate(options)
    if options.action == "copy":
        return _copy(options)
    if Stores.of_user().url is not None:
        raise UsageError(
            "The stores are in PostgreSQL, so this command cannot copy them.",
            hint="Use pg_dump and pg_restore, as docs/many-machines.md describes.",
        )
    folder: Path = options.folder
    if options.action == "backup":
        copied = back_up(user_data_dir(), folder)
        record(Action.EXPORT, f"store backup: {folder}")
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


def _check(options: argparse.Namespace) -> int:
    from treadle.app.store_check import StoreState, check_stores

    states = [
        state
        for stores in _chosen(options.project)
        for state in check_stores(stores, deep=options.deep)
    ]
    failed = any(state.problem for state in states)
    if options.json:
        print_json({"ok": not failed, "stores": to_json(states)})
        return int(failed)

    def row(state: StoreState) -> tuple[str, str, str, str]:
        size = f"{state.bytes:,}" if state.version else ""
        said = state.problem or state.warning or ("ok" if state.version else "not created yet")
        return state.name, str(state.version or ""), size, said

    print_text(table(list(map(row, states)), ("STORE", "VERSION", "BYTES", "STATE")))
    return int(failed)


def _migrate(options: argparse.Namespace) -> int:
    from treadle.app.project_databases import project_databases

    migrated: list[str] = []
    for stores in _chosen(options.project):
        for database in project_databases(stores):
            if database.exists:
                with database:
                    database.migrate()
                migrated.append(database.name)
    if options.json:
        print_json({"ok": True, "stores": migrated})
    else:
        print_line(f"{len(migrated)} stores are up to date.")
    return 0


def _copy(options: argparse.Namespace) -> int:
    from treadle.app.project_databases import copy_project

    project = require_project_name(options.project or DEFAULT_PROJECT)
    source, target = (
        Stores.of_user(project) if place is None else Stores.at(place, project)
        for place in (options.source, options.target)
    )
    if source == target or (source.url or source.folder) == (target.url or target.folder):
        raise UsageError(
            "The source and the target are the same place.",
            hint="Name the other place with --from or --to.",
        )
    report_line(f"Copying the project {project} from {source.name} to {target.name}.")
    with RowCounter(quiet=options.json) as counter:
        copied = copy_project(source, target, counter)
    if options.json:
        print_json({"ok": True, "stores": copied})
        return 0
    rows = [(name, f"{sum(tables.values()):,}") for name, tables in copied.items()]
    print_text(table(rows, ("STORE", "ROWS")))
    print_line("Both places have the same rows.")
    return 0


def _chosen(project: str | None) -> list[Stores]:
    """Return the stores of the project, or of all projects if it is None."""
    if project is not None:
        return [Stores.of_user(require_project_name(project))]
    with IdentityStore(Stores.of_user().identity) as identities:
        names = [each.name for each in identities.projects.all()] if identities.exists else []
    return [Stores.of_user(name) for name in dict.fromkeys((DEFAULT_PROJECT, *names))]


def _rows(copied: list[CopiedFile]) -> list[tuple[str, str, str]]:
    return [(each.name, f"{each.total_rows:,}", f"{each.bytes:,}") for each in copied]


COMMAND = Command(
    "Examine, upgrade, copy, back up and restore the stores of this installation.", configure, run
)
