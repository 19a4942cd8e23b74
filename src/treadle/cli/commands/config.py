"""The command `treadle config`: shows the settings and their origins, and validates them."""

import argparse
import json
import os
from pathlib import Path

from treadle.cli.command import Command, repository
from treadle.cli.output import print_json, print_text, report, table
from treadle.config.effective_settings import shown_values
from treadle.config.loader import LoadedConfig, accept, config_paths, load
from treadle.config.trust import note
from treadle.errors import UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the sub-commands to the parser."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("show", help="show every setting, its value and its source")
    actions.add_parser("path", help="list the configuration files that Treadle reads")
    actions.add_parser("check", help="check that the configuration is valid")
    trusting = actions.add_parser(
        "trust", help="consent to the current settings of a repository in trusted_roots"
    )
    trusting.add_argument("--forget", action="store_true", help="revoke the consent")


def run(options: argparse.Namespace) -> int:
    """Run the chosen sub-command, and return the exit status."""
    root = repository(options)
    if options.action == "path":
        return _paths(root, as_json=options.json)
    if options.action == "trust":
        return _trust(root, forget=options.forget, as_json=options.json)
    loaded = load(root, os.environ, {})
    for warning in loaded.warnings:
        report(warning)
    if options.action == "show":
        return _show(loaded, as_json=options.json)
    if options.json:
        print_json({"ok": not loaded.warnings, "warnings": list(loaded.warnings)})
    else:
        print_text("The configuration is valid.")
    return 0


def _trust(root: Path, *, forget: bool, as_json: bool) -> int:
    if forget:
        note(root, None)
        accepted: tuple[str, ...] = ()
        message = "The consent for this repository is revoked."
    else:
        if not load(root, os.environ, {}).is_listed:
            raise UsageError(
                f"{root} is not in trusted_roots.",
                hint=f"Add it to trusted_roots in {config_paths(root)[0]} first.",
            )
        accepted = accept(root)
        message = f"Accepted: {', '.join(accepted) or 'no setting needs consent'}."
    if as_json:
        print_json({"accepted": list(accepted)})
    else:
        print_text(message)
    return 0


def _paths(root: Path, *, as_json: bool) -> int:
    paths = config_paths(root)
    if as_json:
        print_json({"paths": [{"path": str(p), "exists": p.exists()} for p in paths]})
        return 0
    for path in paths:
        print_text(f"{path}{'' if path.exists() else '  (not there)'}")
    return 0


def _show(loaded: LoadedConfig, *, as_json: bool) -> int:
    if as_json:
        print_json(
            {
                "settings": shown_values(loaded),
                "origins": {key: str(origin) for key, origin in loaded.origins.items()},
            }
        )
        return 0
    rows = [
        (key, json.dumps(value, ensure_ascii=False), str(loaded.origin_of(key)))
        for key, value in _flat(shown_values(loaded))
    ]
    print_text(table(rows, ("SETTING", "VALUE", "FROM")))
    return 0


def _flat(values: dict[str, object], prefix: str = "") -> list[tuple[str, object]]:
    rows: list[tuple[str, object]] = []
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and value:
            rows.extend(_flat(value, f"{name}."))
        else:
            rows.append((name, value))
    return rows


COMMAND = Command("Show the settings and their sources, and validate them.", configure, run)
