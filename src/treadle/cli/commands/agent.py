"""The command `treadle agent`: asks an agent about recorded traces."""

import argparse
import os
import sys
from uuid import UUID

from treadle.agents.page_context import PageContext
from treadle.app.agents import ORCHESTRATOR, AgentService
from treadle.app.application import open_app
from treadle.cli.command import Command, repository
from treadle.cli.commands.sessions import with_conversations
from treadle.cli.output import print_json, print_text, report, report_line, table
from treadle.cli.turn_output import TurnOutput, exit_status, output_for, show_turn
from treadle.clock import when
from treadle.config.loader import load
from treadle.display.lines import short_id
from treadle.errors import ExitStatus, UsageError
from treadle.events import EventBus
from treadle.ids import new_id
from treadle.json_values import to_json
from treadle.session import SessionOutcome
from treadle.session.conversations import Kind


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the question, its subject, the agent and the model to the parser."""
    parser.add_argument(
        "question", nargs="?", help="the question; `-` reads it from standard input"
    )
    parser.add_argument("--thread", metavar="ID", help="ask about this thread")
    parser.add_argument("--run", metavar="ID", help="ask about this run")
    parser.add_argument(
        "--trace", metavar="ID", help="ask about this trace: its id, a prefix of its id, or `last`"
    )
    parser.add_argument("--span", metavar="ID", help="ask about this span")
    parser.add_argument(
        "--label",
        metavar="NAME",
        action="append",
        default=[],
        help="ask about spans with this label",
    )
    parser.add_argument("--experiment", metavar="ID", help="ask about this experiment")
    parser.add_argument(
        "--agent", metavar="NAME", help=f"the agent to ask (default: {ORCHESTRATOR})"
    )
    parser.add_argument(
        "--conversation",
        metavar="ID",
        help="continue an earlier conversation: its id, a prefix of its id, or `last`",
    )
    parser.add_argument("--list", action="store_true", help="list the agents")
    parser.add_argument(
        "--conversations", action="store_true", help="list the earlier conversations with agents"
    )
    parser.add_argument("--model", metavar="PROVIDER/MODEL", help="the model to ask")


def run(options: argparse.Namespace) -> int:
    """Ask the agent, show its turn, and return the exit status."""
    if options.list:
        return _list(options)
    if options.conversations:
        return _list_conversations(options)
    question = sys.stdin.read() if options.question == "-" else options.question or ""
    if not question.strip():
        raise UsageError(
            "The question is empty.", hint='Pass a question: `treadle agent "what went wrong?"`.'
        )
    output = output_for(options, answer_at_once=False)
    return exit_status(output, lambda output: _ask(options, question, output))


async def _ask(options: argparse.Namespace, question: str, output: TurnOutput) -> SessionOutcome:
    bus, request_id = EventBus(), new_id()
    turn = _answer(options, question, output, bus, request_id)
    return await show_turn(turn, output, bus, request_id, all_requests=True)


async def _answer(
    options: argparse.Namespace, question: str, output: TurnOutput, bus: EventBus, request_id: UUID
) -> tuple[SessionOutcome, list[str]]:
    """Ask the agent. Return the outcome, and warnings about data that could not be recorded."""
    root = repository(options)
    loaded = load(root, os.environ, {"model": options.model})
    for warning in loaded.warnings:
        report_line(f"! {warning}")
    async with (
        open_app(root, bus=bus, settings=loaded.settings) as app,
        AgentService.open(app) as agents,
    ):
        for warning in agents.warnings:
            report_line(f"! {warning}")
        page = await agents.resolve_page(
            PageContext(
                thread_id=options.thread,
                run_id=options.run,
                trace_id=options.trace,
                span_id=options.span,
                labels=tuple(options.label),
                experiment_id=options.experiment,
            )
        )
        conversation = await agents.conversation(options.conversation, agent=options.agent)
        with output.answering(app):
            outcome = await agents.ask(
                question,
                page,
                request_id=request_id,
                model=options.model,
                conversation=conversation,
            )
    return outcome, app.warnings


def _list(options: argparse.Namespace) -> int:
    from treadle.agents.definitions import find_agents
    from treadle.config.loader import is_trusted

    root = repository(options)
    trusted = is_trusted(root, load(root, os.environ, {}).settings.trusted_roots)
    found = find_agents(root, trusted=trusted)
    for warning in found.warnings:
        report_line(f"! {warning}")
    agents = [found.agents[name] for name in sorted(found.agents)]
    if options.json:
        print_json(
            {
                "agents": [
                    {**each.header.model_dump(mode="json"), "origin": each.origin.value}
                    for each in agents
                ]
            }
        )
        return ExitStatus.DONE
    rows = [(each.name, each.origin.value, each.header.description) for each in agents]
    print_text(table(rows, ("AGENT", "FROM", "PURPOSE")))
    return ExitStatus.DONE


def _list_conversations(options: argparse.Namespace) -> int:
    root = repository(options)
    found = with_conversations(lambda store: store.list(root=root, kind=Kind.AGENT))
    if options.json:
        data = [{**to_json(row), "agent": row.agent} for row in found]
        print_json({"conversations": data})
        return ExitStatus.DONE
    if not found:
        report(
            'There are no conversations with agents. Start one with `treadle agent "what went '
            'wrong?"`.'
        )
        return ExitStatus.DONE
    rows = [
        (short_id(str(row.id)), when(row.updated_us), str(row.turns), row.agent or "", row.title)
        for row in found
    ]
    print_text(table(rows, ("CONVERSATION", "CHANGED", "QUESTIONS", "AGENT", "TITLE")))
    return ExitStatus.DONE


COMMAND = Command(
    "Ask about recorded traces: what failed, what is slow, what is expensive.", configure, run
)
