"""The command `treadle context`: prints the code or the instructions that a model receives."""

import argparse
import json

from treadle.cli.command import Command, positive, repository
from treadle.cli.commands.tools import call_tool, print_outcome
from treadle.cli.output import print_text
from treadle.errors import UsageError
from treadle.visible import in_json, in_line


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the question and the token budget to the parser."""
    parser.add_argument(
        "query", nargs="?", help="a question or a symbol; with --instructions, a file or folder"
    )
    parser.add_argument(
        "--instructions",
        action="store_true",
        help="list the instruction files that the assistant gets, with their tokens",
    )
    parser.add_argument(
        "--budget", type=positive, default=4_000, metavar="N", help="the maximum number of tokens"
    )


def run(options: argparse.Namespace) -> int:
    """Print the code for a question, or list the instructions, and return the exit status."""
    if options.instructions:
        return _list_instructions(options)
    if options.query is None:
        raise UsageError(
            "`treadle context` needs a question or a symbol.",
            hint="`treadle context --instructions` lists the instructions of the repository.",
        )
    arguments = json.dumps({"token_budget": options.budget, "hint": options.query})
    outcome = call_tool(repository(options), "request_code_context", arguments, quiet=options.json)
    return print_outcome(outcome, as_json=options.json, show=_show)


def _list_instructions(options: argparse.Namespace) -> int:
    """List the instruction files for the root, or for a file or folder below it."""
    from treadle.app.instructions import listed_instructions
    from treadle.json_values import to_json

    loaded = listed_instructions(repository(options), options.query)
    if options.json:
        print_text(in_json(json.dumps(to_json(loaded), ensure_ascii=False)))
        return 0
    if not loaded.enabled:
        print_text("Instructions are switched off by the setting instructions.enabled.")
        return 0
    for each in loaded.files:
        state = "cut" if each.cut else "left out" if each.reason else "whole"
        reason = f": {in_line(each.reason)}" if each.reason else ""
        print_text(f"{in_line(each.path)}  {each.tokens:,} tokens, {state}{reason}")
    print_text(f"{loaded.tokens:,} tokens of instructions; the limit is {loaded.budget:,}.")
    return 0


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


COMMAND = Command("Print the code or the instructions that a model receives.", configure, run)
