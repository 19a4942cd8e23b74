"""The command `treadle context`: prints the code that a model receives for a question."""

import argparse
import json

from treadle.cli.command import Command, positive, repository
from treadle.cli.commands.tools import call_tool, print_outcome
from treadle.visible import in_line


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the question and the token budget to the parser."""
    parser.add_argument("query", help="a question or a symbol")
    parser.add_argument(
        "--budget", type=positive, default=4_000, metavar="N", help="the maximum number of tokens"
    )


def run(options: argparse.Namespace) -> int:
    """Call the tool `request_code_context`, print its result, and return the exit status."""
    arguments = json.dumps({"token_budget": options.budget, "hint": options.query})
    outcome = call_tool(repository(options), "request_code_context", arguments, quiet=options.json)
    return print_outcome(outcome, as_json=options.json, show=_show)


def _show(result: dict[str, object]) -> str:
    entries = result["context"]
    assert isinstance(entries, list)
    parts = [
        in_line(f"{e['file']}:{e['lines']}  {e['canonical_path']}") + f"\n{e['snippet']}"
        for e in entries
    ]
    parts.append(
        f"{result['omitted']} more items did not fit into the budget." if result["omitted"] else ""
    )
    parts.append(str(result.get("note", "")))
    return "\n\n".join(part for part in parts if part)


COMMAND = Command("Print the code that a model receives for a question.", configure, run)
