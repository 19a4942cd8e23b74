"""The command `treadle keys`: manages the API keys of a shared server."""

import argparse
import math
from collections.abc import Callable

from treadle.cli.command import Command, RepositoryUse, age, positive, set_repository_use
from treadle.cli.identity_store import WHO, audit, now_us, opened_identities
from treadle.cli.output import print_json, print_line, print_text, report, table
from treadle.clock import when
from treadle.database.address import DEFAULT_PROJECT
from treadle.display.lines import short_id
from treadle.identity.identity import Limits, Scope, require_scopes
from treadle.identity.records import Action, ApiKey
from treadle.json_values import to_json

_MAX_DOLLARS = 1_000_000_000


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the sub-commands to the parser."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    create = actions.add_parser("create", help="create a key, and print it once")
    create.add_argument("name", help="a name for the lists, such as `ci`")
    create.add_argument(
        "--project", default=DEFAULT_PROJECT, help="the project of the key (default: %(default)s)"
    )
    create.add_argument(
        "--scopes", default=Scope.INGEST.value, metavar="LIST",
        help=f"a list with commas of {', '.join(Scope)} (default: %(default)s)",
    )  # fmt: skip
    create.add_argument("--expires", type=age, metavar="AGE", help="such as 90d (default: never)")
    for unit in ("requests", "spans"):
        create.add_argument(
            f"--{unit}-per-minute", type=positive, metavar="N", help="(default: no limit)"
        )
    for period in ("day", "month"):
        create.add_argument(
            f"--dollars-per-{period}", type=_dollars, metavar="AMOUNT",
            help="the cost of model calls through the gateway (default: no limit)",
        )  # fmt: skip
    listing = actions.add_parser("list", help="list the keys without their secrets")
    listing.add_argument("--project", help="only the keys of this project")
    listing.add_argument("--all", action="store_true", help="also list revoked keys")
    revoke = actions.add_parser("revoke", help="revoke a key; servers refuse it within seconds")
    revoke.add_argument("key", help="the name, the id, or the beginning of the key or of the id")
    for action in (create, listing, revoke):
        set_repository_use(action, RepositoryUse.NONE)


def run(options: argparse.Namespace) -> int:
    """Run the chosen sub-command, and return the exit status."""
    actions: dict[str, Callable[[argparse.Namespace], int]] = {
        "create": _create,
        "list": _list,
        "revoke": _revoke,
    }
    return actions[options.action](options)


def _dollars(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= _MAX_DOLLARS:
        raise argparse.ArgumentTypeError(f"{text[:20]!r} is not an amount of dollars above 0")
    return value


def _create(options: argparse.Namespace) -> int:
    scopes = require_scopes(options.scopes.split(","))
    limits = Limits(
        options.requests_per_minute,
        options.spans_per_minute,
        options.dollars_per_day,
        options.dollars_per_month,
    )
    now = now_us()
    with opened_identities() as store:
        project = store.projects.require(options.project)
        key, secret = store.keys.create(
            project,
            options.name,
            scopes,
            limits,
            created_by=WHO,
            expires_us=None if options.expires is None else now + options.expires,
            now_us=now,
        )
        audit(store, Action.KEY_CREATED, _described(key), project)
    if options.json:
        print_json({"key": to_json(key), "secret": secret})
        return 0
    report(
        f"The key {key.name} of the project {project} has the scopes "
        f"{', '.join(sorted(scopes))}. Save it now, because it is not shown again."
    )
    print_line(secret)
    return 0


def _list(options: argparse.Namespace) -> int:
    with opened_identities() as store:
        keys = store.keys.all(options.project, revoked=options.all) if store.exists else []
    if options.json:
        print_json({"keys": to_json(keys)})
        return 0
    if not keys:
        report("There are no keys. Create one with `treadle keys create NAME`.")
        return 0
    headers = ("KEY", "NAME", "PROJECT", "BEGINS", "SCOPES", "LAST USED", "STATE")
    print_text(table([_row(key) for key in keys], headers))
    return 0


def _row(key: ApiKey) -> tuple[str, ...]:
    used = "never" if key.last_used_us is None else when(key.last_used_us)
    if key.revoked_us is not None:
        state = f"revoked {when(key.revoked_us)}"
    elif key.expires_us is None:
        state = "valid"
    else:
        expired = key.expires_us <= now_us()
        state = f"{'expired' if expired else 'valid until'} {when(key.expires_us)}"
    scopes = ",".join(sorted(key.scopes))
    return short_id(key.id), key.name, key.project, key.prefix, scopes, used, state


def _revoke(options: argparse.Namespace) -> int:
    with opened_identities() as store:
        key = store.keys.revoke(options.key, now_us())
        audit(store, Action.KEY_REVOKED, _described(key), key.project)
    if options.json:
        print_json({"ok": True, "id": key.id, "name": key.name, "project": key.project})
    else:
        print_line(f"The key {key.name} of the project {key.project} is revoked.")
    return 0


def _described(key: ApiKey) -> str:
    return f"{key.name} ({key.prefix}…, {', '.join(sorted(key.scopes))})"


COMMAND = Command("Manage the API keys of a shared server.", configure, run)
