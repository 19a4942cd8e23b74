"""The command `treadle users`: manages the people who sign in to a shared server."""

import argparse
import os
from collections.abc import Callable
from pathlib import Path

from treadle.app.running_server import DEFAULT_PORT
from treadle.cli.command import Command, RepositoryUse, age, member_of, set_repository_use
from treadle.cli.identity_store import audit, now_us, opened_identities
from treadle.cli.output import print_json, print_line, print_text, report, table
from treadle.clock import when
from treadle.database.address import DEFAULT_PROJECT
from treadle.identity.identity import Role
from treadle.identity.invitation_links import invitation_link
from treadle.identity.records import Action
from treadle.json_values import to_json
from treadle.paths import find_root

_INVITATION_AGE = "7d"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the sub-commands to the parser."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    invite = actions.add_parser("invite", help="print a link with which a person signs in")
    listing = actions.add_parser("list", help="list the users and the open invitations")
    remove = actions.add_parser("remove", help="remove a user, and end the sessions of the user")
    role = actions.add_parser("role", help="change the role of a user in a project")
    for action in (invite, remove, role):
        action.add_argument("email", help="the e-mail address of the person")
    for action in (invite, role):
        action.add_argument(
            "--project",
            default=DEFAULT_PROJECT,
            help="the project of the role (default: %(default)s)",
        )
    remove.add_argument("--project", help="remove only the role in this project")
    invite.add_argument(
        "--role", type=member_of(Role), choices=tuple(Role), default=Role.VIEWER,
        help="(default: %(default)s)",
    )  # fmt: skip
    role.add_argument("role", type=member_of(Role), choices=tuple(Role), help="the new role")
    invite.add_argument(
        "--expires", type=age, default=_INVITATION_AGE, metavar="AGE",
        help="the time for which the link is valid (default: %(default)s)",
    )  # fmt: skip
    for action in (listing, remove, role):
        set_repository_use(action, RepositoryUse.NONE)
    set_repository_use(invite, RepositoryUse.SETTINGS)


def run(options: argparse.Namespace) -> int:
    """Run the chosen sub-command, and return the exit status."""
    actions: dict[str, Callable[[argparse.Namespace], int]] = {
        "invite": _invite,
        "list": _list,
        "remove": _remove,
        "role": _role,
    }
    return actions[options.action](options)


def _invite(options: argparse.Namespace) -> int:
    address = _address(options.repo)
    with opened_identities() as store:
        project = store.projects.require(options.project)
        invitation, secret = store.users.invite(
            options.email, project, options.role, now_us=now_us(), microseconds=options.expires
        )
        subject = f"{invitation.email} as {invitation.role}"
        audit(store, Action.USER_INVITED, subject, project)
    link = invitation_link(address, secret)
    if options.json:
        print_json({"invitation": to_json(invitation), "link": link})
        return 0
    report(
        f"Send this link to {invitation.email}. It is valid once, until "
        f"{when(invitation.expires_us)}, and it is not shown again."
    )
    print_line(link)
    return 0


def _address(repo: Path | None) -> str:
    from treadle.config.loader import load

    root = find_root(repo or Path.cwd())
    address: str | None = load(root, os.environ, {}).settings.server.address
    return address or f"http://127.0.0.1:{DEFAULT_PORT}"


def _list(options: argparse.Namespace) -> int:
    with opened_identities() as store:
        users = store.users.all() if store.exists else []
        invitations = store.users.invitations(now_us()) if store.exists else []
    if options.json:
        print_json({"users": to_json(users), "invitations": to_json(invitations)})
        return 0
    if not users and not invitations:
        report("There are no users. Invite one with `treadle users invite name@example.com`.")
        return 0
    rows = [
        (each.email, ", ".join(f"{project}: {role}" for project, role in each.roles.items()), "")
        for each in users
    ]
    rows += [
        (each.email, f"{each.project}: {each.role}", f"invited, until {when(each.expires_us)}")
        for each in invitations
    ]
    print_text(table(rows, ("USER", "ROLES", "STATE")))
    return 0


def _remove(options: argparse.Namespace) -> int:
    with opened_identities() as store:
        user = store.users.remove(options.email, options.project)
        audit(store, Action.USER_REMOVED, user.email, options.project or "")
    if options.json:
        print_json({"ok": True, "email": user.email, "project": options.project})
    elif options.project:
        print_line(f"The user {user.email} has no role in {options.project} any more.")
    else:
        print_line(f"The user {user.email} is removed, and all sessions of the user end.")
    return 0


def _role(options: argparse.Namespace) -> int:
    with opened_identities() as store:
        project = store.projects.require(options.project)
        user = store.users.set_role(options.email, project, options.role)
        audit(store, Action.ROLE_CHANGED, f"{user.email} is {options.role}", project)
    if options.json:
        print_json({"ok": True, "email": user.email, "project": project, "role": options.role})
    else:
        print_line(f"The user {user.email} is now {options.role} of the project {project}.")
    return 0


COMMAND = Command("Manage the people who sign in to a shared server.", configure, run)
