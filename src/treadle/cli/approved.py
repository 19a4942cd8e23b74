"""`treadle tools approvals`: what is always allowed in a repository, and how it is revoked."""

from pathlib import Path

from treadle.app.stores import approvals_path
from treadle.cli.output import print_json, say, table, when
from treadle.errors import NotFoundError
from treadle.tools.approvals.grants import GrantStore


def list_approvals(root: Path, *, as_json: bool) -> int:
    """Print what is remembered for the repository at `root`."""
    remembered = GrantStore(approvals_path()).remembered(root)
    if as_json:
        print_json(
            {
                "approvals": [
                    {
                        "number": each.number,
                        "tool": each.grant.tool,
                        "path": each.grant.path or None,
                        "command": each.grant.command or None,
                        "program": each.grant.program or None,
                        "granted_us": each.granted_us,
                    }
                    for each in remembered
                ]
            }
        )
    elif remembered:
        rows = [
            (
                str(each.number),
                each.grant.tool,
                each.grant.path or each.grant.command or "(every call)",
                each.grant.program,
                when(each.granted_us),
            )
            for each in remembered
        ]
        say(table(rows, ("NUMBER", "TOOL", "PATH OR COMMAND", "PROGRAM", "ALLOWED")))
    else:
        say("This repository has no permanent approvals.")
    return 0


def revoke(root: Path, which: str, *, as_json: bool) -> int:
    """Forget the approval of that number, or `all`. Raises NotFoundError when there is none."""
    number = None if which == "all" else int(which)
    count = GrantStore(approvals_path()).revoke(root, number)
    if not count and number is not None:
        raise NotFoundError(
            f"This repository has no approval {number}.",
            hint="List the approvals with `treadle tools approvals`.",
        )
    if as_json:
        print_json({"revoked": count})
    else:
        say(f"{count} approval{'s' * (count != 1)} revoked.")
    return 0
