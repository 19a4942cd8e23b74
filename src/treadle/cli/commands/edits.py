"""The command `treadle edits`: shows, approves, denies, undoes and checks proposals."""

import argparse
import os
import sys
from collections.abc import Callable
from functools import partial

from treadle.app.local_audit import record
from treadle.app.proposal_answers import ListedProposal, ShownProposal, chosen_parts
from treadle.app.stores import Stores
from treadle.app.toolsets import preview_proposal
from treadle.cli.command import Command, allow_program, positive, repository
from treadle.cli.output import print_json, print_line, print_text, report, report_line, table
from treadle.clock import when
from treadle.config.loader import load
from treadle.display.diffs import coloured, side_by_side, unified_text
from treadle.display.lines import short_id
from treadle.edits.diffs import counts
from treadle.edits.freshness import Freshness
from treadle.edits.model import Proposal, ProposalState
from treadle.edits.proposal_store import NO_PROPOSALS
from treadle.edits.service import Edits
from treadle.identity.records import Action
from treadle.json_values import to_json
from treadle.toolbox.wording import counted

_SHOWN = 20
_DECISIONS = frozenset({"approve", "deny", "undo", "redo"})
"""The sub-commands that the audit log records as approvals."""
_ACTIONS = {
    "redo": (Edits.redo, "apply a change again after undoing it"),
    "restage": (Edits.restage, "rebase a proposal onto files that have changed"),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the sub-commands to the parser."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="list the proposals of this repository, newest first")
    listing.add_argument(
        "--state",
        choices=[state.value for state in ProposalState],
        help="list only proposals in this state",
    )
    listing.add_argument("--limit", type=positive, default=_SHOWN, metavar="N", help="at most N")
    show = actions.add_parser("show", help="show a proposal with its diff")
    _add_proposal(show)
    show.add_argument(
        "--side-by-side", action="store_true", help="show the old and new text side by side"
    )
    approve = actions.add_parser("approve", help="apply a proposal, or some of its hunks")
    _add_proposal(approve)
    _add_hunks(approve, "apply only these hunks, by their numbers in `edits show`; deny the others")
    deny = actions.add_parser("deny", help="deny a proposal, or some of its hunks")
    _add_proposal(deny)
    _add_hunks(deny, "deny only these hunks, by their numbers in `edits show`")
    deny.add_argument("--because", metavar="WORDS", help="the reason, stored with the proposal")
    undo = actions.add_parser("undo", help="undo a change, and keep later changes by others")
    _add_proposal(undo)
    undo.add_argument(
        "--keep-changed",
        action="store_true",
        help="undo only in files that have not changed since the edit; skip the other files",
    )
    for name, (_, text) in _ACTIONS.items():
        _add_proposal(actions.add_parser(name, help=text))
    check = actions.add_parser("check", help="run a check on a copy with the proposal applied")
    _add_proposal(check)
    check.add_argument("name", nargs="?", help="the check (default: list the available checks)")
    allow_program(check)


def _add_proposal(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("proposal", help="an id, a prefix of an id, or LAST")


def _add_hunks(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("--hunk", metavar="N", type=positive, action="append", help=text)
    parser.add_argument(
        "--file", metavar="PATH", action="append", help="select all hunks of this file"
    )


def run(options: argparse.Namespace) -> int:
    """Run the chosen sub-command, and return the exit status."""
    root = repository(options)
    with Stores.of_user().open_edits(root) as edits:
        if options.action == "list":
            return _list(edits, options)
        proposal = edits.find(options.proposal)
        action = _COMMANDS[options.action]
        status = action(edits, proposal, options)
    if options.action in _DECISIONS:
        record(Action.APPROVAL, f"edits {options.action}: {proposal.id}")
    return status


def _list(edits: Edits, options: argparse.Namespace) -> int:
    states = [ProposalState(options.state)] if options.state else None
    proposals = edits.list(states=states, limit=options.limit)
    if options.json:
        print_json({"proposals": [to_json(ListedProposal.of(each)) for each in proposals]})
        return 0
    if not proposals:
        print_text("This repository has no such proposal." if states else NO_PROPOSALS)
        return 0
    rows = [
        (short_id(str(each.id)), each.state.value, when(each.created_us), _size(each), each.summary)
        for each in proposals
    ]
    print_text(table(rows, ("ID", "STATE", "STAGED", "LINES", "WHAT")))
    return 0


def _size(proposal: Proposal) -> str:
    """Return the counts of added and removed lines.

    Denied hunks are not counted, unless all hunks are denied.
    """
    sizes = [counts(change) for change in proposal.selected() or proposal.changes]
    return f"+{sum(added for added, _ in sizes)} -{sum(removed for _, removed in sizes)}"


def _show(edits: Edits, proposal: Proposal, options: argparse.Namespace) -> int:
    freshness = edits.freshness(proposal)
    if options.json:
        print_json(to_json(ShownProposal.of(proposal, freshness)))
        return 0
    print_text(f"{proposal.id}  {proposal.state.value}  {when(proposal.created_us)}")
    print_line(f"{proposal.summary} ({_size(proposal)})")
    for text in filter(None, (proposal.reason, proposal.words and f"You said: {proposal.words}")):
        print_text(text)
    for note in (*proposal.warnings, *proposal.notes):
        print_line(f"! {note}")
    number = 0
    colour = coloured(sys.stdout)
    for file, (change, fresh) in enumerate(zip(proposal.changes, freshness, strict=True)):
        if proposal.state in {ProposalState.STAGED, ProposalState.CONFLICTED}:
            _print_stale(change.path, fresh)
        first, number = number + 1, number + change.parts
        hunks = f"hunk {first}" if first == number else f"hunks {first} to {number}"
        denied = [first + hunk for at, hunk in sorted(proposal.denied) if at == file]
        refused = f", denied: {', '.join(map(str, denied))}" if denied else ""
        print_text(f"\n[{hunks}{refused}]")
        show = side_by_side if options.side_by_side else unified_text
        print(show(change, colour=colour))
    return 0


def _print_stale(path: str, fresh: Freshness) -> None:
    if fresh is not Freshness.FRESH:
        print_line(f"! {path}: {_STALE[fresh]}")


_STALE = {
    Freshness.CHANGED: (
        "it has changed since; `treadle edits restage` rebases the proposal onto the current files"
    ),
    Freshness.GONE: "it no longer exists",
    Freshness.IN_THE_WAY: "another file already exists at its path",
}


def _approve(edits: Edits, proposal: Proposal, options: argparse.Namespace) -> int:
    hunks = chosen_parts(proposal, options.hunk, options.file)
    return _report(edits.apply(proposal.id, hunks=hunks), options)


def _deny(edits: Edits, proposal: Proposal, options: argparse.Namespace) -> int:
    hunks = chosen_parts(proposal, options.hunk, options.file)
    return _report(edits.deny(proposal.id, words=options.because, hunks=hunks), options)


def _undo(edits: Edits, proposal: Proposal, options: argparse.Namespace) -> int:
    return _report(edits.undo(proposal.id, keep_changed=options.keep_changed), options)


def _change(edits: Edits, proposal: Proposal, options: argparse.Namespace) -> int:
    done, _ = _ACTIONS[options.action]
    return _report(done(edits, proposal.id), options)


def _check(edits: Edits, proposal: Proposal, options: argparse.Namespace) -> int:
    from treadle.cli.commands.checks import run_check

    return run_check(
        edits.root,
        load(edits.root, os.environ, {}).settings,
        options.name,
        proposal=str(proposal.id),
        preview=partial(preview_proposal, edits),
        agreed=options.yes,
        as_json=options.json,
    )


_COMMANDS: dict[str, Callable[[Edits, Proposal, argparse.Namespace], int]] = {
    "show": _show,
    "approve": _approve,
    "deny": _deny,
    "check": _check,
    "undo": _undo,
    **dict.fromkeys(_ACTIONS, _change),
}


def _report(proposal: Proposal, options: argparse.Namespace) -> int:
    if options.json:
        print_json(to_json(ListedProposal.of(proposal)))
        return 0
    left = proposal.selected()
    if proposal.state is ProposalState.PARTLY_UNDONE:
        left = tuple(change for n, change in enumerate(proposal.changes) if n in proposal.undone)
    files = ", ".join(change.path for change in left or proposal.changes)
    is_partial = bool(left and proposal.denied)
    denied = f"; denied: {counted(len(proposal.denied), 'hunk')}" if is_partial else ""
    print_line(f"{proposal.state.value}: {files}{denied}")
    if proposal.state in {ProposalState.STAGED, ProposalState.APPLIED}:
        for warning in proposal.warnings:
            report_line(f"! {warning}")
    if proposal.state is ProposalState.APPLIED:
        report(f"Undo it with `treadle edits undo {short_id(str(proposal.id))}`.")
    if proposal.state is ProposalState.PARTLY_UNDONE and proposal.reason:
        report(proposal.reason)
    return 0


COMMAND = Command("List, show, apply, deny and undo proposed edits.", configure, run)
