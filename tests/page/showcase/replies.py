"""Replies of the showcase's provider: for the requested model, at its speed."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from tests.fakes.provider import RecordedRequest, Reply
from tests.fakes.replies import Answer, Call, Pause, Script, usage

_PRICES = {"gpt-5.4": (2.5, 15.0), "gpt-5.4-mini": (0.75, 4.5), "claude-haiku-4-5": (1.0, 5.0)}
"""US dollars for a million tokens: this provider reports the cost of a call."""


def says(text: str, *calls: Call, tokens: tuple[int, int], took: float = 0.4) -> Reply:
    """An answer, with tool calls if there are any."""
    return lambda request: _played(request, Answer(text, calls), tokens, took)


def calls(name: str, tokens: tuple[int, int] = (1_420, 58), **arguments: object) -> Reply:
    """A call of one tool."""
    return says("", Call(name, arguments), tokens=tokens)


def chosen(choose: Callable[[RecordedRequest], tuple[str, tuple[int, int], float]]) -> Reply:
    """An answer that depends on the question."""

    def reply(request: RecordedRequest) -> Script:
        text, tokens, took = choose(request)
        return _played(request, Answer(text), tokens, took)

    return reply


def _played(
    request: RecordedRequest, answer: Answer, tokens: tuple[int, int], took: float
) -> Script:
    model = str(request.body["model"])
    told: Mapping[str, object] = usage(*tokens, cost=_cost(model, tokens))
    script = replace(answer, usage=told, piece=40).script(stream=bool(request.body.get("stream")))
    steps = tuple(
        step.replace(b'"fake-model"', f'"{model}"'.encode()) if isinstance(step, bytes) else step
        for step in script.steps
    )
    middle = max(1, len(steps) // 2)
    steps = (*steps[:middle], Pause(took * 0.6), *steps[middle:])
    return replace(script, steps=steps, before=(Pause(took * 0.4),))


def _cost(model: str, tokens: tuple[int, int]) -> float:
    given, answered = _PRICES[model]
    return round((tokens[0] * given + tokens[1] * answered) / 1_000_000, 6)
