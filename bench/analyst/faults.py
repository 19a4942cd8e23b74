"""The faults of the tuned set, as they happen in real programs: each changes one turn.

A planted fault contains only what such a program would record. `Turn.planted` states which span is
the cause, before anything is ranked.
"""

import json
from collections.abc import Callable

from bench.analyst.making import Maker, ToolStep, Turn
from treadle.spans.span import SpanStatus

TRACEBACK = (
    "Traceback (most recent call last):\n"
    '  File "/srv/app/tools/backend.py", line 88, in fetch\n'
    "    row = cursor.execute(statement, values).fetchone()\n"
    'psycopg2.errors.UndefinedColumn: column "total_eur" does not exist\n'
)


def call_of(turn: Turn, maker: Maker) -> ToolStep:
    """The turn's tool call, which is created if there was none."""
    if turn.tool is None:
        turn.tool, turn.text = maker.step(maker.app.tools[0]), None
    return turn.tool


def silent_empty(turn: Turn, maker: Maker) -> None:
    """A tool finds nothing although there is something, and its status is ok."""
    step = call_of(turn, maker)
    step.result = step.kind.empty
    turn.planted = ["tool"]


def misnamed_refused(turn: Turn, maker: Maker) -> None:
    """The model misnames an argument; the tool answers that an argument is missing."""
    step = call_of(turn, maker)
    name = min(step.arguments)
    step.arguments = {f"{name}_value" if key == name else key: value
                      for key, value in step.arguments.items()}  # fmt: skip
    step.result = json.dumps({"error": f"missing required argument: {name}"})
    turn.planted = ["tool"]


def misnamed_ignored(turn: Turn, maker: Maker) -> None:
    """The model misnames an argument; the tool ignores it and answers something."""
    step = call_of(turn, maker)
    name = max(step.arguments)
    camel = "".join(
        part.title() if at else part for at, part in enumerate(f"the_{name}".split("_"))
    )
    step.arguments = {camel if key == name else key: value
                      for key, value in step.arguments.items()}  # fmt: skip
    turn.planted = ["tool"]


def loop(turn: Turn, maker: Maker) -> None:
    """The model repeats the same call and gets the same answer."""
    call_of(turn, maker)
    turn.repeats = 6
    turn.planted = ["tool"]


def retry_storm(turn: Turn, maker: Maker) -> None:
    """A call fails and is repeated many times; nothing informs the model."""
    step = call_of(turn, maker)
    step.status, step.result = SpanStatus.ERROR, None
    step.error = "HTTP 429: rate limit reached"
    turn.repeats = 5
    turn.planted = ["tool"]


def big_prompt(turn: Turn, _maker: Maker) -> None:
    """The program puts a whole document into one request."""
    turn.more_context = "Context:\n" + " ".join(
        f"Clause {number}: the carrier answers for delays of more than {number % 9} hours."
        for number in range(1_400)
    )
    turn.planted = ["model"]


def long_reasoning(turn: Turn, _maker: Maker) -> None:
    """The model thinks for tens of thousands of tokens about a simple turn."""
    turn.reasoning = 42_000
    turn.planted = ["model"]


def large_result(turn: Turn, maker: Maker) -> None:
    """A tool answers with everything it has, and all later requests include it."""
    step = call_of(turn, maker)
    rows = [maker.app.tools[0].result(maker.draw, step.arguments) for _ in range(260)]
    step.result = json.dumps({"all": rows})
    turn.planted = ["tool"]


def slow_tool(turn: Turn, maker: Maker) -> None:
    """A service that a tool needs takes half a minute once."""
    step = call_of(turn, maker)
    step.took_ms = 34_000
    turn.planted = ["tool"]


def slow_model(turn: Turn, _maker: Maker) -> None:
    """The provider takes ninety seconds for a reply."""
    turn.model_ms = 95_000
    turn.planted = ["model"]


def truncated(turn: Turn, _maker: Maker) -> None:
    """The reply stops at the limit of output tokens, in the middle of a sentence."""
    turn.tool, turn.finish = None, "length"
    turn.text = "Here is the full comparison. First, the offers by price: 1. The cheapest is"
    turn.reply_tokens = 1_024
    turn.planted = ["model"]


def with_instructions(more: str) -> Callable[[Turn, Maker], None]:
    def change(turn: Turn, maker: Maker) -> None:
        def add(each: Turn) -> None:
            each.instructions = f"{maker.app.instructions} {more}"

        add(turn)
        maker.lasting = add
        turn.planted = ["model"]

    return change


two_languages = with_instructions("Respond only in German.")
two_habits = with_instructions(
    "Never confirm the dates or the number of passengers; hold the seat at once."
)
two_lengths = with_instructions("Write at least 400 words in every answer.")


def other_model(turn: Turn, maker: Maker) -> None:
    """From here on a setting sends the calls of this agent to another model, once."""
    turn.model = maker.app.other_model
    turn.planted = ["model"]


def answered_by_other(turn: Turn, maker: Maker) -> None:
    """The provider answers with a different model than requested."""
    turn.requested_model, turn.model = maker.app.model, maker.app.other_model
    turn.planted = ["model"]


def cache_missed(turn: Turn, _maker: Maker) -> None:
    """One request is not found in the provider's cache."""
    turn.cached = False
    turn.planted = ["model"]


def cache_broken(turn: Turn, maker: Maker) -> None:
    """From here on the program writes the time into its instructions: nothing is cached."""

    def stamp(each: Turn) -> None:
        seconds = maker.draw.randrange(60)
        each.instructions = (
            f"It is 2026-10-03 09:{each.number:02}:{seconds:02}. {maker.app.instructions}"
        )
        each.cached = False

    stamp(turn)
    maker.lasting = stamp
    turn.planted = ["model"]


def swallowed_in_result(turn: Turn, maker: Maker) -> None:
    """The tool catches an exception and returns it as a normal answer."""
    step = call_of(turn, maker)
    step.result = json.dumps({"result": None, "log": TRACEBACK})
    turn.planted = ["tool"]


def swallowed_as_event(turn: Turn, maker: Maker) -> None:
    """The instrumentation saw the exception; the tool answers with a default."""
    step = call_of(turn, maker)
    step.events = (
        ("exception", {"exception.type": "KeyError", "exception.message": "'price_eur'",
                       "exception.stacktrace": TRACEBACK}),
    )  # fmt: skip
    turn.planted = ["tool"]


def cascade(turn: Turn, maker: Maker) -> None:
    """A tool fails, and everything around it fails with it."""
    step = call_of(turn, maker)
    step.status, step.result = SpanStatus.ERROR, None
    step.error = "could not connect to server: Connection refused (10.0.4.17:5432)"
    maker.broken = f"{step.kind.name} failed: {step.error}"
    turn.planted = ["tool"]


def failed_quietly(turn: Turn, maker: Maker) -> None:
    """The service answers with status 500; the tool passes the body on without an error."""
    step = call_of(turn, maker)
    step.attributes = {"http.response.status_code": 500}
    step.result = "<html><title>500 Internal Server Error</title><h1>nginx</h1></html>"
    turn.planted = ["tool"]
