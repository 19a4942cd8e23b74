"""Writes the spans of an assistant's run as OTLP, in their order and timing."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

Message = dict[str, Any]
OtlpSpan = dict[str, Any]

_PROVIDERS = {"gpt": "openai", "text": "openai", "claude": "anthropic", "gemini": "gcp.gemini"}
_INTERNAL, _CLIENT = 1, 3
_ERROR = 2


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool call and its result. `error` is the error in the span."""

    name: str
    arguments: Mapping[str, object]
    result: object = None
    took: float = 0.4
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """The location of a span."""

    trace_id: str
    span_id: str

    @property
    def path(self) -> str:
        """Its address on the page."""
        return f"/traces/{self.trace_id}?span={self.span_id}"


def said(role: str, content: str) -> Message:
    """A message of plain text."""
    return {"role": role, "parts": [{"type": "text", "content": content}]}


@dataclass
class Run:
    """One run. Each span begins at `at`, Unix seconds, and moves it to its own end."""

    name: str
    thread: str
    at: float
    labels: Sequence[str] = ()
    messages: list[Message] = field(default_factory=list)
    """The messages of the next model call."""
    spans: list[OtlpSpan] = field(default_factory=list)
    _above: list[OtlpSpan] = field(default_factory=list)
    _calls: int = 0

    @property
    def trace_id(self) -> str:
        """Derived from the name, so that it is the same every time."""
        return _digits(self.name, 32)

    @contextmanager
    def agent(self, name: str, question: str, **more: Any) -> Iterator[OtlpSpan]:
        """An agent that works on a question; its answer is that of the last model call below it."""
        span = self._begin(
            f"invoke_agent {name}",
            {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": name,
                "gen_ai.input.messages": [said("user", question)],
                **more,
            },
        )
        with self._inside(span):
            yield span
        if self.messages and self.messages[-1]["role"] == "assistant":
            _add(span, {"gen_ai.output.messages": [self.messages[-1]]})

    @contextmanager
    def step(self, name: str, **attributes: Any) -> Iterator[OtlpSpan]:
        """A step of the program that is neither a model call nor a tool call."""
        span = self._begin(name, attributes)
        with self._inside(span):
            yield span

    def says(
        self, model: str, answer: str, took: float, tokens: tuple[int, int], **more: Any
    ) -> Recorded:
        """A model answers with text."""
        reply = {**said("assistant", answer), "finish_reason": more.pop("finish", "stop")}
        return self._chat(model, reply, took, tokens, more)

    def asks(
        self, model: str, *tools: Tool, took: float, tokens: tuple[int, int], **more: Any
    ) -> list[Recorded]:
        """A model calls tools, which run in parallel; returns the locations of its call and of
        theirs.
        """
        called = {f"call_{self._calls + number}": tool for number, tool in enumerate(tools, 1)}
        self._calls += len(tools)
        parts = [
            {"type": "tool_call", "id": call_id, "name": tool.name, "arguments": tool.arguments}
            for call_id, tool in called.items()
        ]
        reply = {"role": "assistant", "parts": parts, "finish_reason": "tool_call"}
        chat = self._chat(model, reply, took, tokens, more)
        begun, ends, places = self.at + 0.006, [], []
        for number, (call_id, tool) in enumerate(called.items()):
            self.at = begun + number * 0.001
            places.append(self._run(tool, call_id))
            ends.append(self.at)
        self.at = max(ends) + 0.008
        return [chat, *places]

    def retrieves(
        self, query: str, took: float, documents: Sequence[Mapping[str, object]]
    ) -> Recorded:
        """A document search."""
        return self._whole(
            "retrieval travel-policies",
            {
                "gen_ai.operation.name": "retrieval",
                "gen_ai.data_source.id": "travel-policies",
                "gen_ai.retrieval.query.text": query,
                "gen_ai.retrieval.documents": list(documents),
            },
            took,
        )

    def embeds(self, content: str, took: float, tokens: int) -> Recorded:
        """The embedding of a text."""
        model = "text-embedding-3-small"
        return self._whole(
            f"embeddings {model}",
            {
                "gen_ai.operation.name": "embeddings",
                "gen_ai.provider.name": "openai",
                "gen_ai.request.model": model,
                "gen_ai.usage.input_tokens": tokens,
                "gen_ai.usage.output_tokens": 0,
                "gen_ai.input.messages": [said("user", content)],
            },
            took,
        )

    def waits(self, model: str, since: float) -> Recorded:
        """A model that was asked `since` seconds ago and has not answered.

        Its ancestors have not ended either.
        """
        span = self._begin(f"chat {model}", self._asked(model), _CLIENT)
        for each in (span, *self._above):
            each["endTimeUnixNano"] = "0"
        self.at += since
        return self._place(span)

    def fail(self, span: OtlpSpan, message: str) -> None:
        """Mark a span as failed."""
        span["status"] = {"code": _ERROR, "message": message}

    def _chat(
        self,
        model: str,
        reply: Message,
        took: float,
        tokens: tuple[int, int],
        more: Mapping[str, Any],
    ) -> Recorded:
        cached = more.get("cached", 0)
        attributes = {
            **self._asked(model),
            "gen_ai.response.model": model,
            "gen_ai.response.finish_reasons": [reply["finish_reason"]],
            "gen_ai.usage.input_tokens": tokens[0],
            "gen_ai.usage.output_tokens": tokens[1],
            "gen_ai.usage.cache_read.input_tokens": cached,
            "gen_ai.response.time_to_first_chunk": round(min(0.35 + took * 0.1, took), 3),
            "gen_ai.output.messages": [reply],
        }
        place = self._whole(f"chat {model}", attributes, took, _CLIENT)
        self.messages.append(reply)
        return place

    def _asked(self, model: str) -> dict[str, Any]:
        return {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _PROVIDERS[model.partition("-")[0]],
            "gen_ai.request.model": model,
            "gen_ai.request.temperature": 0.3,
            "gen_ai.request.max_tokens": 2048,
            "gen_ai.input.messages": list(self.messages),
        }

    def _run(self, tool: Tool, call_id: str) -> Recorded:
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool.name,
            "gen_ai.tool.call.id": call_id,
            "gen_ai.tool.call.arguments": json.dumps(tool.arguments),
        }
        if tool.result is not None:
            attributes["gen_ai.tool.call.result"] = json.dumps(tool.result)
        place = self._whole(f"execute_tool {tool.name}", attributes, tool.took)
        response: object = tool.result
        if tool.error is not None:
            self.fail(self.spans[-1], tool.error)
            response = {"error": tool.error}
        part = {"type": "tool_call_response", "id": call_id, "response": response}
        self.messages.append({"role": "tool", "parts": [part]})
        return place

    def _whole(
        self, name: str, attributes: Mapping[str, Any], took: float, kind: int = _INTERNAL
    ) -> Recorded:
        span = self._begin(name, attributes, kind)
        self.at += took
        span["endTimeUnixNano"] = _nanoseconds(self.at)
        return self._place(span)

    def _begin(self, name: str, attributes: Mapping[str, Any], kind: int = _INTERNAL) -> OtlpSpan:
        self.at += 0.003
        span: OtlpSpan = {
            "traceId": self.trace_id,
            "spanId": _digits(f"{self.name} {len(self.spans)}", 16),
            "name": name,
            "kind": kind,
            "startTimeUnixNano": _nanoseconds(self.at),
            "attributes": [],
        }
        if self._above:
            span["parentSpanId"] = self._above[-1]["spanId"]
        shared = {"gen_ai.conversation.id": self.thread, "run.id": self.name}
        labels = {"labels": list(self.labels)} if self.labels else {}
        _add(span, {**attributes, **shared, **labels})
        self.spans.append(span)
        return span

    @contextmanager
    def _inside(self, span: OtlpSpan) -> Iterator[None]:
        self._above.append(span)
        yield
        self._above.pop()
        self.at += 0.009
        span.setdefault("endTimeUnixNano", _nanoseconds(self.at))

    def _place(self, span: OtlpSpan) -> Recorded:
        return Recorded(self.trace_id, span["spanId"])


def export(runs: Sequence[Run]) -> dict[str, Any]:
    """All of them as one export of OTLP/JSON."""
    resource = {"service.name": "voyage-assistant", "deployment.environment.name": "staging"}
    scope = {"name": "voyage.telemetry", "version": "2.4.0"}
    spans = [span for run in runs for span in run.spans]
    told = {"attributes": _listed(resource)}
    return {"resourceSpans": [{"resource": told, "scopeSpans": [{"scope": scope, "spans": spans}]}]}


def _add(span: OtlpSpan, attributes: Mapping[str, Any]) -> None:
    span["attributes"] += _listed(attributes)


def _listed(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in attributes.items()]


def _value(value: Any) -> dict[str, Any]:
    """Messages and documents are sent as JSON text, like instrumentations do."""
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case [str(), *_]:
            return {"arrayValue": {"values": [{"stringValue": each} for each in value]}}
        case str():
            return {"stringValue": value}
        case _:
            return {"stringValue": json.dumps(value)}


def _nanoseconds(seconds: float) -> str:
    return str(round(seconds * 1_000_000) * 1_000)


def _digits(name: str, count: int) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:count]
