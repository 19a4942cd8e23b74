"""The faults of the held-out set: the same kinds, with other words and shapes."""

import json
from dataclasses import replace

from bench.analyst.faults import call_of, with_instructions
from bench.analyst.making import Maker, Turn
from treadle.spans.span import JsonValue, SpanStatus

_STACK = (
    'java.lang.NullPointerException: Cannot invoke "Row.total()" because "row" is null\n'
    "\tat com.example.tools.Report.total(Report.java:71)\n"
    "\tat com.example.tools.Server.answer(Server.java:212)\n"
)


def hangs(turn: Turn, maker: Maker) -> None:
    """A call never ends; the run is given up after a minute."""
    step = call_of(turn, maker)
    step.took_ms, step.ended = 60_000, False
    maker.broken = "the run took too long"
    turn.planted = ["tool"]


def refused(turn: Turn, _maker: Maker) -> None:
    """The model refuses a harmless task."""
    turn.tool = None
    turn.text = "I'm sorry, but I can't help with that request."
    turn.planted = ["model"]


def unknown_tool(turn: Turn, maker: Maker) -> None:
    """The model calls a tool that it was never offered."""
    step = call_of(turn, maker)
    step.name, step.result = "lookup_everything", None
    step.status, step.error = SpanStatus.ERROR, "unknown tool: lookup_everything"
    turn.planted = ["model"]


def token_expired(turn: Turn, maker: Maker) -> None:
    """A token expires: from here on every call of every tool is refused."""
    first = call_of(turn, maker)

    def refuse(each: Turn) -> None:
        if each.tool is not None:
            each.tool.result = json.dumps(
                {"ok": False, "status": 401, "message": "Unauthorized: the token has expired"}
            )

    refuse(replace(turn, tool=first))
    maker.lasting = refuse
    turn.planted = ["tool"]


def nothing_found(turn: Turn, maker: Maker) -> None:
    """The search index is being rebuilt: the tool finds nothing."""
    step = call_of(turn, maker)
    step.result = step.kind.empty
    turn.planted = ["tool"]


def misnamed_camel(turn: Turn, maker: Maker) -> None:
    """The model misnames an argument; the tool's validation reports it in its own words."""
    step = call_of(turn, maker)
    name = min(step.arguments)
    step.arguments = {f"{name}Name" if key == name else key: value
                      for key, value in step.arguments.items()}  # fmt: skip
    step.status, step.result = SpanStatus.ERROR, None
    step.error = f"1 validation error for Input\n{name}\n  Field required [type=missing]"
    turn.planted = ["tool"]


def misnamed_unnoticed(turn: Turn, maker: Maker) -> None:
    """The model misnames an argument; the tool uses a default."""
    step = call_of(turn, maker)
    name = max(step.arguments)
    step.arguments = {f"x_{name}" if key == name else key: value
                      for key, value in step.arguments.items()}  # fmt: skip
    turn.planted = ["tool"]


def again_and_again(turn: Turn, maker: Maker) -> None:
    """The model does not notice that it has the requested result."""
    call_of(turn, maker)
    turn.repeats = 3
    turn.planted = ["tool"]


def overloaded(turn: Turn, maker: Maker) -> None:
    """The provider is overloaded; the client tries for some time, then gives up."""
    turn.model_status, turn.model_error = SpanStatus.ERROR, "529 overloaded_error: Overloaded"
    turn.repeats = 4
    turn.planted = ["model"]
    maker.broken = "the model could not be reached"


def history_twice(turn: Turn, maker: Maker) -> None:
    """A program error sends an old conversation along, once."""
    lines = [f"user: {maker.app.questions[0]} ({number})" for number in range(900)]
    turn.more_context = "Earlier conversation:\n" + "\n".join(lines)
    turn.planted = ["model"]


def dump(turn: Turn, maker: Maker) -> None:
    """A tool answers with a dump of everything."""
    step = call_of(turn, maker)
    step.result = "\n".join(
        f"{number};{maker.draw.getrandbits(64):016x};{maker.draw.random():.6f};open"
        for number in range(2_500)
    )
    turn.planted = ["tool"]


def lock_wait(turn: Turn, maker: Maker) -> None:
    """A database lock delays a call for some time."""
    call_of(turn, maker).took_ms = 14_500
    turn.planted = ["tool"]


def arguments_cut(turn: Turn, maker: Maker) -> None:
    """The reply is cut while the model writes a long answer."""
    turn.tool, turn.finish = None, "max_tokens"
    turn.text = f"{maker.draw.choice(maker.app.answers)} In detail: first, "
    turn.reply_tokens = 512
    turn.planted = ["model"]


def filtered(turn: Turn, _maker: Maker) -> None:
    """A content filter stops the reply."""
    turn.tool, turn.finish, turn.text, turn.reply_tokens = None, "content_filter", "", 3
    turn.planted = ["model"]


markdown_and_json = with_instructions("Format the answer as Markdown with headings.")
restart = with_instructions("Always restart the service yourself when its load is above 0.9.")
english_too = with_instructions("Always answer in English.")


def other_model_for_good(turn: Turn, maker: Maker) -> None:
    """A release changes the model: all calls from here on go to another one."""

    def change(each: Turn) -> None:
        each.model = maker.app.other_model

    change(turn)
    maker.lasting = change
    turn.planted = ["model"]


def request_id_in_front(turn: Turn, maker: Maker) -> None:
    """From here on the program puts an id before its instructions: nothing is cached."""

    def mark(each: Turn) -> None:
        each.instructions = f"[request {maker.draw.getrandbits(48):x}] {maker.app.instructions}"
        each.cached = False

    mark(turn)
    maker.lasting = mark
    turn.planted = ["model"]


def stack_in_result(turn: Turn, maker: Maker) -> None:
    """The tool catches an exception and returns its stack as the answer."""
    call_of(turn, maker).result = _STACK
    turn.planted = ["tool"]


def exception_seen(turn: Turn, maker: Maker) -> None:
    """The exception is recorded, the tool answers with nothing."""
    step = call_of(turn, maker)
    step.result = step.kind.empty
    told: dict[str, JsonValue] = {
        "exception.type": "TimeoutError",
        "exception.message": "no answer from 10.2.0.9 in 5 s",
    }
    step.events = (("exception", told),)
    turn.planted = ["tool"]


def forbidden(turn: Turn, maker: Maker) -> None:
    """A permission was removed: this call is refused, in prose."""
    call_of(turn, maker).result = "403 Forbidden: this account may not read that resource"
    turn.planted = ["tool"]


def database_gone(turn: Turn, maker: Maker) -> None:
    """The database goes away; the run fails."""
    step = call_of(turn, maker)
    step.status, step.result = SpanStatus.ERROR, None
    step.error = "OperationalError: server closed the connection unexpectedly"
    maker.broken = f"RunError: {json.dumps(step.kind.name)} failed"
    turn.planted = ["tool"]
