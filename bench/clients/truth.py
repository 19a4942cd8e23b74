"""The figures of the scenario, and how they are compared with recorded spans."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from bench.clients import provider, scenario
from treadle.events.types import Usage
from treadle.llm.prices import price

Row = Mapping[str, Any]
"""The JSON of a span, with the fields of the list of spans and those of the whole span."""


@dataclass(frozen=True, slots=True, eq=False)
class Between:
    """A number of microseconds that depends on the machine."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Expected:
    """One span that a part of the scenario must leave, and its figures."""

    name: str
    kinds: frozenset[str]
    figures: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Part:
    """The time of a part of the scenario, as the client's program reports it."""

    part: str
    began_ns: int
    ended_ns: int
    raised: str | None = None


class Difference(NamedTuple):
    """A figure that is not exact. `excuse` states why the client does not send it."""

    part: str
    span: str
    figure: str
    wanted: Any
    got: Any
    excuse: str | None

    @property
    def word(self) -> str:
        """The word for the table."""
        if self.excuse is not None:
            return "not sent"
        return "missing" if self.got in (None, [], {}, ()) else "wrong"


class ComparedPart(NamedTuple):
    """The number of compared figures, and those that are not exact."""

    part: str
    figures: int
    differences: list[Difference]


_MODEL = frozenset({"model"})
_CONTEXT = {
    "thread": scenario.THREAD, "user": scenario.USER, "release": scenario.RELEASE,
    "labels": scenario.TAGS, "metadata": scenario.METADATA,
}  # fmt: skip
"""The context of a run, which its root states. A filter for it must find every span of the run."""

CONTEXT_QUERIES = {
    "user": f"user:{scenario.USER}",
    "release": f"release:{scenario.RELEASE}",
    "labels": f"label:{scenario.TAGS[0]}",
    "metadata": f"metadata.tenant:{scenario.METADATA['tenant']}",
}
"""Maps a figure of the context to the filter for it. A row names the filters that find it."""


def _said(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def _tool_call(name: str, city: str) -> dict[str, Any]:
    return {"id": name, "name": "get_weather", "arguments": {"city": city}}


def _call(used: Usage, asked: Any, answered: Any, **more: Any) -> Expected:
    figures = {
        "status": "ok", "model": scenario.MODEL, "provider": "openai",
        "input tokens": used.input, "output tokens": used.output,
        "cached tokens": used.cached, "reasoning tokens": used.reasoning,
        "cost": _dollars(price(scenario.MODEL, "openai", used)), "counted": True,
        "duration": Between(round(provider.DELAY * 1e6), 60_000_000),
        "input": asked, "output": answered,
    }  # fmt: skip
    return Expected("call", _MODEL, figures | more)


_ASKED = [_said("system", scenario.SYSTEM), _said("user", scenario.QUESTION)]
_ANSWERED = [_said("assistant", scenario.ANSWER)]
_CALLED = [_said("assistant", None, tool_calls=[_tool_call("call_weather", scenario.CITY)])]
_RESULT = _said("tool", scenario.RESULT, tool_call_id="call_weather")


def expected(part: str) -> Sequence[Expected]:
    """The spans of a part, in the order of their start."""
    match part:
        case "chat":
            root = {
                "status": "ok", "name": scenario.ROOT, "input": scenario.QUESTION,
                "output": scenario.ANSWER, **_CONTEXT,
            }  # fmt: skip
            tool = {
                "status": "ok", "name": "execute_tool get_weather",
                "input": {"city": scenario.CITY}, "output": scenario.RESULT, **_CONTEXT,
            }  # fmt: skip
            history = [*_ASKED, *_CALLED, _RESULT]
            return (
                Expected("root", frozenset({"run", "agent"}), root),
                _call(provider.CALL, _ASKED, _CALLED, **_CONTEXT),
                Expected("tool", frozenset({"tool"}), tool),
                _call(provider.REPLY, history, _ANSWERED, **_CONTEXT),
            )
        case "stream":
            first = round(provider.FIRST_TOKEN * 1e6)
            streamed = {
                "first token": Between(first, first + 2_000_000),
                "duration": Between(first + 10_000, 60_000_000),
            }
            return (_call(provider.STREAM, _ASKED, _ANSWERED, **streamed),)
        case "embed":
            figures = {
                "status": "ok", "model": scenario.EMBEDDER, "provider": "openai",
                "input tokens": 4, "input": scenario.EMBEDDED,
                "cost": _dollars(price(scenario.EMBEDDER, "openai", provider.EMBEDDING)),
            }  # fmt: skip
            return (Expected("embedding", frozenset({"embedding"}), figures),)
        case "fail":
            figures = {
                "status": "error", "model": scenario.MODEL, "provider": "openai",
                "error": "rate limited", "error type": "RateLimitError", "cost": None,
                "input": [_said("user", scenario.REFUSED_QUESTION)],
                "input tokens": None, "output tokens": None,
            }  # fmt: skip
            return (Expected("call", _MODEL, figures),)
        case "responses":
            answered = [_said("assistant", scenario.ANSWER, reasoning=provider.REASON)]
            return (_call(provider.THOUGHTS, _ASKED, answered),)
        case "image":
            parts = [scenario.IMAGE_QUESTION, {"image": scenario.IMAGE}]
            answered = [_said("assistant", provider.IMAGE_ANSWER)]
            return (_call(provider.IMAGE, [_said("user", parts)], answered),)
        case "failing tool":
            figures = {
                "status": "error", "name": "execute_tool get_weather",
                "input": {"city": scenario.FAILING_CITY},
                "error": scenario.TOOL_ERROR, "error type": "ValueError",
            }  # fmt: skip
            return (Expected("tool", frozenset({"tool"}), figures),)
        case _:
            raise ValueError(part)


PARTS = ("chat", "stream", "embed", "fail", "responses", "image", "failing tool")


def compare(
    rows: Sequence[Row], parts: Sequence[Part], lacks: Mapping[str, str]
) -> Iterator[ComparedPart]:
    """Compare the recorded spans of each part.

    A part that the program did not run is left out if `lacks` has the reason.
    """
    ran = {part.part: part for part in parts}
    for name in PARTS:
        if name not in lacks:
            yield _compare_part(name, _spans_of(rows, ran.get(name)), lacks)


def _spans_of(rows: Sequence[Row], part: Part | None) -> list[Row]:
    if part is None:
        return []
    low, high = part.began_ns // 1_000, part.ended_ns // 1_000
    return sorted((r for r in rows if low <= r["start_us"] <= high), key=lambda r: r["start_us"])


def _compare_part(name: str, rows: list[Row], lacks: Mapping[str, str]) -> ComparedPart:
    differences: list[Difference] = []
    figures = 0
    wanted = expected(name)
    for place, each in enumerate(wanted):
        if f"{name}/{each.name}" in lacks:
            continue
        inherits = each.name != "root"
        position = sum(other.kinds == each.kinds for other in wanted[:place])
        found = [row for row in rows if row["kind"] in each.kinds]
        if each.name == "root":
            found = [row for row in found if row["parent_id"] is None] or found
        figures += 1
        if len(found) <= position:
            kinds = ", ".join(f"{row['kind']} {row['name']}" for row in rows)
            differences.append(Difference(name, each.name, "span", each.kinds, kinds, None))
            continue
        for figure, value in each.figures.items():
            figures += 1
            row = found[position]
            got = _FIGURES[figure](row)
            if inherits and figure in row.get("found_by", ()):
                continue
            if not _is_exact(figure, value, got, calls_lack_ids="tool call id" in lacks):
                keys = (
                    figure,
                    f"{each.name} {figure}",
                    f"{name}/{figure}",
                    f"{name}/{each.name}/{figure}",
                )
                excuse = next((lacks[key] for key in keys if key in lacks), None)
                differences.append(Difference(name, each.name, figure, value, got, excuse))
    differences += _surplus(name, rows, wanted)
    return ComparedPart(name, figures, differences)


def _without_call_ids(messages: Any) -> Any:
    """The messages without the ids of the tool calls of a reply."""
    if not (isinstance(messages, list) and len(messages) == 1 and isinstance(messages[0], dict)):
        return messages
    calls = [{**call, "id": None} for call in messages[0].get("tool_calls", ())]
    return [{**messages[0], "tool_calls": calls}] if calls else messages


def _is_exact(figure: str, wanted: Any, got: Any, *, calls_lack_ids: bool) -> bool:
    if calls_lack_ids:
        wanted, got = _without_call_ids(wanted), _without_call_ids(got)
    if isinstance(wanted, Between):
        return isinstance(got, int) and wanted.low <= got <= wanted.high
    if isinstance(wanted, str) and figure.startswith("error"):
        return got is not None and wanted in got
    return bool(wanted == got)


def _surplus(name: str, rows: list[Row], wanted: Sequence[Expected]) -> list[Difference]:
    """A call that is counted twice would double the sums."""
    calls = [row for row in rows if row["kind"] in _MODEL and row.get("counted", True)]
    most = sum(each.kinds == _MODEL for each in wanted)
    if len(calls) <= most or name == "failing tool":  # an agent answers after a failed tool
        return []
    names = [row["name"] for row in calls]
    return [Difference(name, "calls", "number of calls", most, names, None)]


def _dollars(cost: float | None) -> float | None:
    return None if cost is None else round(cost, 9)


def _json(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _content(value: Any) -> Any:
    """The content of a message: text, or a list of texts and images."""
    if not isinstance(value, list):
        return value
    parts = [_content_part(each) for each in value]
    return parts[0] if len(parts) == 1 and isinstance(parts[0], str) else parts


def _content_part(part: Any) -> Any:
    if isinstance(part, dict) and isinstance(part.get("text"), str):
        return part["text"]
    if isinstance(part, dict) and isinstance(part.get("image_url"), dict):
        return {"image": part["image_url"].get("url")}
    return part


def _message(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    message = {"role": value.get("role"), "content": _content(value.get("content"))}
    if message["role"] == "tool":
        message |= {"content": _json(message["content"]), "tool_call_id": value.get("tool_call_id")}
    if value.get("tool_calls"):
        message["tool_calls"] = [
            {
                "id": call.get("id"),
                "name": call.get("function", {}).get("name"),
                "arguments": _json(call.get("function", {}).get("arguments")),
            }
            for call in value["tool_calls"]
        ]
    if value.get("reasoning_content"):
        message["reasoning"] = value["reasoning_content"]
    return message


def _read(side: str) -> Callable[[Row], Any]:
    def read(row: Row) -> Any:
        value = _json(row[side])
        if row["kind"] == "model" and isinstance(value, list):
            return [_message(each) for each in value]
        if row["kind"] in ("run", "agent"):
            return _plain(value)
        return value

    return read


def _plain(value: Any) -> Any:
    """The text of an agent's question or answer, without the instructions of the system."""
    if isinstance(value, list):
        value = [each for each in value if not _is_system(each)]
        return _plain(value[0]) if len(value) == 1 else value
    if isinstance(value, dict):
        if "content" in value:
            return _plain(value["content"])
        if len(value) == 1 or value.get("type") == "text":
            return _plain(value.get("text", next(iter(value.values()))))
    return value


def _is_system(value: Any) -> bool:
    return isinstance(value, dict) and value.get("role") == "system"


def _tokens(name: str) -> Callable[[Row], Any]:
    # A provider that reports 0 cached tokens, and one that reports none, mean the same.
    zero = (0,) if name in ("cached", "reasoning") else ()
    return lambda row: None if row["tokens"][name] in zero else row["tokens"][name]


_FIGURES: Mapping[str, Callable[[Row], Any]] = {
    "status": lambda row: row["status"],
    "name": lambda row: row["name"],
    "model": lambda row: row["model"],
    "provider": lambda row: row["provider"],
    "input tokens": _tokens("input"),
    "output tokens": _tokens("output"),
    "cached tokens": _tokens("cached"),
    "reasoning tokens": _tokens("reasoning"),
    "cost": lambda row: _dollars(row["cost"]),
    "counted": lambda row: row.get("counted", True),
    "first token": lambda row: row["time_to_first_token_us"],
    "duration": lambda row: row["duration_us"],
    "input": _read("input"),
    "output": _read("output"),
    "error": lambda row: row["error"],
    "error type": lambda row: row["error_type"],
    "thread": lambda row: row["thread_id"],
    "user": lambda row: row.get("user"),
    "release": lambda row: row.get("release"),
    "labels": lambda row: list(row["labels"]),
    "metadata": lambda row: row.get("metadata") or {},
}
