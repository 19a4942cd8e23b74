"""The command `treadle projects`: manages the projects of a shared server."""

import argparse
from pathlib import Path

from treadle.cli.command import Command, RepositoryUse, set_repository_use
from treadle.cli.identity_store import audit, now_us, opened_identities
from treadle.cli.output import print_json, print_line, print_text, table
from treadle.clock import when
from treadle.database.address import DEFAULT_PROJECT
from treadle.errors import UsageError
from treadle.identity.records import Action, Project
from treadle.json_values import to_json
from treadle.paths import find_root


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the sub-commands to the parser."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    add = actions.add_parser("add", help="add a project")
    add.add_argument("name", help="lower-case letters, digits and underscores, with a letter first")
    add.add_argument(
        "--repository", metavar="FOLDER", type=Path, help="the repository that the code tools read"
    )
    listing = actions.add_parser("list", help="list the projects")
    remove = actions.add_parser(
        "remove", help="remove a project with its keys and roles; its recorded data stays"
    )
    remove.add_argument("name", help="the name of the project")
    for action in (add, listing, remove):
        set_repository_use(action, RepositoryUse.NONE)


def run(options: argparse.Namespace) -> int:
    """Run the chosen sub-command, and return the exit status."""
    if options.action == "list":
        return _list(as_json=options.json)
    with opened_identities() as store:
        if options.action == "add":
            store.projects.add(options.name, now_us(), _repository(options.repository))
            audit(store, Action.PROJECT_ADDED, options.name, options.name)
            said = f"The project {options.name} is added."
        else:
            store.projects.remove(options.name)
            audit(store, Action.PROJECT_REMOVED, options.name, options.name)
            said = f"The project {options.name} is removed. Its recorded data is unchanged."
    if options.json:
        print_json({"ok": True, "name": options.name})
    else:
        print_line(said)
    return 0


def _repository(folder: Path | None) -> str | None:
    """Return the root of the repository at `folder`. Raises UsageError if it is not a folder."""
    if folder is None:
        return None
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder.", hint="Name the root of a repository.")
    return str(find_root(folder))


def _list(*, as_json: bool) -> int:
    with opened_identities() as store:
        projects = store.projects.all() if store.exists else [Project(DEFAULT_PROJECT, 0)]
    if as_json:
        print_json({"projects": to_json(projects)})
        return 0
    rows = [
        (
            each.name,
            when(each.created_us) if each.created_us else "always",
            each.repository or "",
        )
        for each in projects
    ]
    print_text(table(rows, ("PROJECT", "CREATED", "REPOSITORY")))
    return 0


COMMAND = Command("Manage the projects of a shared server.", configure, run)
