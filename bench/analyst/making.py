"""Runs of programs as spans: each turn asks a model, calls tools and passes their results on.

A fault changes a turn (`Turn`) before its spans are generated. Everything after it follows
naturally: later requests include the answers, times move, tokens count.
"""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bench.analyst.apps import App, Arguments, ToolKind
from treadle.diagnosis.evidence import SpanReference
from treadle.events.types import Usage
from treadle.spans.span import CostSource, JsonValue, Span, SpanEvent, SpanKind, SpanStatus

BEGIN_US = 1_791_000_000_000_000
PRICES = {
    "gpt-4o-mini": (0.15, 0.60), "gpt-4.1": (2.0, 8.0), "gpt-4.1-nano": (0.10, 0.40),
    "claude-sonnet-4-5": (3.0, 15.0), "claude-3-haiku": (0.25, 1.25),
    "gemini-2.5-flash": (0.30, 2.50), "gemini-2.5-pro": (1.25, 10.0),
    "mistral-small": (0.10, 0.30), "mistral-large": (2.0, 6.0), "gpt-4o": (2.5, 10.0),
    "command-r": (0.15, 0.60),
}  # fmt: skip
"""US dollars for a million tokens in and out; cached tokens cost a tenth."""
_MIN_CACHED = 1_024
_HARMLESS = 0.06
"""Share of the turns with an error that is corrected at once."""


@dataclass(slots=True)
class ToolStep:
    """A tool call before it happens."""

    kind: ToolKind
    arguments: Arguments
    result: str | None
    took_ms: float
    status: SpanStatus = SpanStatus.OK
    error: str | None = None
    events: tuple[tuple[str, dict[str, JsonValue]], ...] = ()
    attributes: dict[str, JsonValue] = field(default_factory=dict)
    name: str | None = None
    """The name that the model uses, if it differs from the tool's."""
    ended: bool = True


@dataclass(slots=True)
class Turn:
    """One turn of an agent before it happens: a model call, then a tool."""

    number: int
    instructions: str
    model: str
    reply_tokens: int
    model_ms: float
    tool: ToolStep | None
    text: str | None = None
    """The model's text if it calls nothing."""
    finish: str | None = None
    cached: bool = True
    requested_model: str | None = None
    reasoning: int = 0
    more_context: str = ""
    """What the program adds to the request."""
    model_status: SpanStatus = SpanStatus.OK
    model_error: str | None = None
    repeats: int = 0
    """How often the identical turn repeats."""
    planted: list[str] = field(default_factory=list)
    """"model" or "tool": the first span of that kind in this turn is the cause."""


Fault = Callable[[Turn, "Maker"], None]


@dataclass(slots=True)
class Maker:
    """The spans of one trace. The same seed gives the same ones."""

    app: App
    seed: int
    fault_at: tuple[int, int] | None = None
    """The agent of the trace, and the turn of that agent, that the fault hits."""
    fault: Fault | None = None
    begin_us: int = BEGIN_US
    harmless: bool = True
    offers_tools: bool = True
    tools_below_models: bool = False
    """Whether a tool's span is a child of the model call that requested it."""
    draw: random.Random = field(init=False)
    spans: list[Span] = field(default_factory=list)
    cause: SpanReference | None = None
    consequences: set[SpanReference] = field(default_factory=set)
    broken: str | None = None
    """What ended the run, if something did."""
    lasting: Callable[[Turn], None] | None = None
    """What a fault changes from its turn on."""
    _now: int = field(init=False)
    _trace: str = field(init=False)
    _ids: int = 0

    def __post_init__(self) -> None:
        self.draw = random.Random(f"{self.app.name} {self.seed}")
        self._now = self.begin_us
        self._trace = f"{self.draw.getrandbits(128):032x}"

    @property
    def trace_id(self) -> str:
        return self._trace

    def single(self, turns: int) -> None:
        """One agent that does everything: a run with its turns directly below."""
        root, began = self._id(), self._now
        question = self.draw.choice(self.app.questions)
        answer = self._agent(root, question, turns, agent=0)
        self._root(root, began, question, answer)

    def team(self, agents: int, turns: int) -> None:
        """An orchestrator that calls agents one after the other, each with its own turns."""
        root, began = self._id(), self._now
        question = self.draw.choice(self.app.questions)
        answer: str | None = None
        for number in range(agents):
            answer = self._called(root, question, turns, agent=number)
            if self.broken is not None:
                break
        self._root(root, began, question, answer)

    def nested(self, leads: int, agents: int, turns: int) -> None:
        """An orchestrator with leads, each of which calls agents with their own turns."""
        root, began = self._id(), self._now
        question = self.draw.choice(self.app.questions)
        answer: str | None = None
        for lead in range(leads):
            lead_id, start, task = self._id(), self._now, f"part {lead}: {question}"
            for number in range(agents):
                answer = self._called(lead_id, task, turns, agent=lead * agents + number)
                if self.broken is not None:
                    break
            self._close(
                lead_id, root, SpanKind.AGENT, "invoke_agent", "invoke_agent lead", start,
                task, answer,
            )  # fmt: skip
            if self.broken is not None:
                break
        self._root(root, began, question, answer)

    def _called(self, parent: str, question: str, turns: int, agent: int) -> str | None:
        """An agent that another one calls."""
        name = self.draw.choice(self.app.agents)
        span_id, start, task = self._id(), self._now, f"{name} {agent}: {question}"
        answer = self._agent(span_id, task, turns, agent)
        self._close(
            span_id, parent, SpanKind.AGENT, "invoke_agent", f"invoke_agent {name}", start,
            task, answer,
        )  # fmt: skip
        return answer

    def _root(self, root: str, began: int, question: str, answer: str | None) -> None:
        self._close(
            root, None, SpanKind.RUN, "invoke_agent", self.app.name, began, question, answer
        )

    def _close(
        self, span_id: str, parent: str | None, kind: SpanKind, operation: str, name: str,
        start: int, said: str, answer: str | None,
    ) -> None:  # fmt: skip
        """The span around other spans; it fails if something in it breaks."""
        failed = self.broken is not None
        self._add(
            Span(
                trace_id=self._trace, span_id=span_id, parent_id=parent, kind=kind,
                operation=operation, name=name, start_us=start, end_us=self._now + 2_000,
                status=SpanStatus.ERROR if failed else SpanStatus.OK,
                error=self.broken, input=said, output=None if failed else answer,
                thread_id=f"thread-{self.seed}" if parent is None else None,
            )
        )  # fmt: skip
        self._now += 2_000
        if failed:
            self.consequences.add(SpanReference(self._trace, span_id))

    def _agent(self, parent: str, task: str, turns: int, agent: int) -> str | None:
        messages: list[JsonValue] = [{"role": "user", "content": task}]
        previous, answer = 0, None
        for number in range(turns):
            turn = self._turn(number, last=number == turns - 1)
            if self.lasting is not None:
                self.lasting(turn)
            if self.fault is not None and self.fault_at == (agent, number):
                self.fault(turn, self)
            answer = turn.text
            for again in range(turn.repeats + 1):
                previous = self._take(turn, parent, messages, previous, first=again == 0)
            if self.broken is not None:
                return None
            if self.harmless and turn.tool and not turn.planted and self._slips():
                for mended in self._slip(turn.number, turn.tool.kind):
                    previous = self._take(mended, parent, messages, previous, first=False)
        return answer

    def _slips(self) -> bool:
        return self.draw.random() < _HARMLESS

    def _slip(self, number: int, kind: ToolKind) -> tuple[Turn, Turn]:
        """An error, and the next turn, which corrects it."""
        slip, mended = (self._turn(number, last=False, tool=kind) for _ in range(2))
        assert slip.tool is not None
        assert mended.tool is not None
        asked = dict(slip.tool.arguments)
        mended.tool.arguments = asked
        if self.draw.random() < 0.5:
            name = self.draw.choice(sorted(asked))
            value = asked[name]
            other = value + 1 if isinstance(value, int) else f"{value} (old)"
            slip.tool.arguments = {**asked, name: other}
            slip.tool.result = kind.empty
        else:
            slip.tool.result, slip.tool.status = None, SpanStatus.ERROR
            slip.tool.error = self.draw.choice(
                ("not found", "HTTP 503: try again", "connection reset by peer")
            )
        return slip, mended

    def _turn(self, number: int, *, last: bool, tool: ToolKind | None = None) -> Turn:
        step = None if last else self.step(tool or self.draw.choice(self.app.tools))
        return Turn(
            number=number,
            instructions=self.app.instructions,
            model=self.app.model,
            reply_tokens=self.draw.randrange(25, 60) if step else self.draw.randrange(40, 160),
            model_ms=self.draw.lognormvariate(6.7, 0.25),
            tool=step,
            text=None if step else self.draw.choice(self.app.answers),
        )

    def step(self, kind: ToolKind, arguments: Arguments | None = None) -> ToolStep:
        """A successful tool call."""
        asked = kind.arguments(self.draw) if arguments is None else arguments
        took = kind.median_ms * self.draw.lognormvariate(0, 0.3)
        return ToolStep(kind, asked, kind.result(self.draw, asked), took)

    def _take(
        self, turn: Turn, parent: str, messages: list[JsonValue], previous: int, *, first: bool
    ) -> int:
        """Generate the spans of a turn; returns the tokens of its request."""
        if turn.more_context:
            messages.append({"role": "user", "content": turn.more_context})
            turn.more_context = ""
        model, tokens = self._model(turn, parent, messages, previous)
        made = {"model": model, "tool": None}
        if turn.tool is not None and turn.model_status is SpanStatus.OK:
            above = model.span_id if self.tools_below_models else parent
            made["tool"] = self._tool(turn, turn.tool, above, messages)
        for which in turn.planted if first else ():
            span = made[which]
            if span is not None:
                self.cause = self.cause or SpanReference(self._trace, span.span_id)
        if self.lasting is not None or (turn.planted and not first):
            self.consequences |= {
                SpanReference(self._trace, span.span_id)
                for span in made.values()
                if span is not None
            } - {self.cause}
        return tokens

    def _model(
        self, turn: Turn, parent: str, messages: Sequence[JsonValue], previous: int
    ) -> tuple[Span, int]:
        request = [{"role": "system", "content": turn.instructions}, *messages]
        said = json.dumps(request, ensure_ascii=False)
        # The size of a request apart from its text: tool schemas, message markers.
        tokens = len(said) // 4 + 900
        cached = previous // 128 * 128 if turn.cached and previous >= _MIN_CACHED else 0
        read, written = PRICES[turn.model]
        out = turn.reply_tokens + turn.reasoning
        cost = ((tokens - cached) * read + cached * read / 10 + out * written) / 1e6
        finish = turn.finish or ("tool_calls" if turn.tool else "stop")
        attributes: dict[str, JsonValue] = {
            "gen_ai.request.model": turn.requested_model or turn.model,
            "gen_ai.response.model": turn.model,
            "gen_ai.response.finish_reasons": [finish],
        }
        if self.offers_tools:
            definitions = [kind.definition() for kind in self.app.tools]
            attributes["gen_ai.tool.definitions"] = json.dumps(definitions)
        ok = turn.model_status is SpanStatus.OK
        took = round((turn.model_ms + 9 * out) * 1_000)
        span = Span(
            trace_id=self._trace, span_id=self._id(), parent_id=parent, kind=SpanKind.MODEL,
            operation="chat", name=f"chat {turn.requested_model or turn.model}",
            start_us=self._now, end_us=self._now + took, status=turn.model_status,
            error=turn.model_error, model=turn.model, provider="a-provider",
            tokens=Usage(tokens, out, cached, turn.reasoning or None) if ok else Usage(),
            cost=cost if ok else None, cost_source=CostSource.PRICES if ok else None,
            time_to_first_token_us=took // 3 if ok else None,
            attributes=attributes, input=said, output=self._reply(turn) if ok else None,
        )  # fmt: skip
        self._add(span)
        self._now += took + self.draw.randrange(1_000, 5_000)
        return span, tokens

    def _reply(self, turn: Turn) -> str:
        message: dict[str, JsonValue] = {"role": "assistant", "content": turn.text}
        if turn.tool is not None:
            message["tool_calls"] = [self._call(turn.tool)]
        return json.dumps([message], ensure_ascii=False)

    def _call(self, step: ToolStep) -> JsonValue:
        name = step.name or step.kind.name
        arguments = json.dumps(step.arguments, ensure_ascii=False)
        call_id = f"call_{self._ids}"
        return {
            "id": call_id,
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }

    def _tool(self, turn: Turn, step: ToolStep, parent: str, messages: list[JsonValue]) -> Span:
        name = step.name or step.kind.name
        call = self._call(step)
        took = round(step.took_ms * 1_000)
        start = self._now
        self._now += took
        span = Span(
            trace_id=self._trace, span_id=self._id(), parent_id=parent, kind=SpanKind.TOOL,
            operation="execute_tool", name=f"execute_tool {name}", start_us=start,
            end_us=self._now if step.ended else None,
            status=step.status if step.ended else SpanStatus.UNFINISHED, error=step.error,
            attributes={"gen_ai.tool.name": name, **step.attributes},
            events=tuple(SpanEvent(start + took // 2, *event) for event in step.events),
            input=json.dumps(step.arguments, ensure_ascii=False),
            output=step.result if step.ended else None,
        )  # fmt: skip
        self._add(span)
        self._now += self.draw.randrange(500, 3_000)
        messages.append({"role": "assistant", "content": turn.text, "tool_calls": [call]})
        said = step.result if step.result is not None else f"Error: {step.error}"
        call_id = call["id"] if isinstance(call, dict) else ""
        messages.append({"role": "tool", "tool_call_id": call_id, "content": said})
        return span

    def _add(self, span: Span) -> None:
        self.spans.append(span)

    def _id(self) -> str:
        self._ids += 1
        return f"{self.draw.getrandbits(64):016x}"
