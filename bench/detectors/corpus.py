"""The labelled cases: recorded spans, each with a fault or with something similar.

Cases of `cases/tuned` may have shaped the detectors. Those of `cases/held_out` were written after
the last change of the detectors. A case that leads to a change moves to the tuned ones.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from treadle.spans.span import Attributes, JsonValue, Span, SpanEvent, SpanKind, SpanStatus

FOLDER = Path(__file__).resolve().parent / "cases"
PARTS = ("tuned", "held_out")


@dataclass(frozen=True, slots=True)
class Case:
    """A span, whether something in it is wrong, and why."""

    name: str
    group: str
    """The file of the case."""
    part: str
    span: Span
    fault: bool
    why: str
    field: str
    """The location of the fault: the beginning of a path; empty for anywhere."""


def cases(part: str) -> list[Case]:
    """All cases of a part. Raises ValueError for a malformed case and for duplicate names."""
    found: list[Case] = []
    for path in sorted((FOLDER / part).glob("*.toml")):
        entries = tomllib.loads(path.read_text("utf-8"))["case"]
        found += [_case(entry, path.stem, part) for entry in entries]
    names = [case.name for case in found]
    doubled = {name for name in names if names.count(name) > 1}
    if doubled:
        raise ValueError(f"cases with the same name: {doubled}")
    return found


def _case(entry: Mapping[str, object], group: str, part: str) -> Case:
    known = {
        "id",
        "tool",
        "arguments",
        "result",
        "request",
        "reply",
        "kind",
        "name",
        "input",
        "output",
        "status",
        "error",
        "exception",
        "attributes",
        "fault",
        "field",
        "why",
    }
    if entry.keys() - known:
        raise ValueError(f"{entry['id']}: {entry.keys() - known}")
    return Case(
        name=str(entry["id"]),
        group=group,
        part=part,
        span=_span(entry),
        fault=bool(entry["fault"]),
        why=str(entry["why"]),
        field=str(entry.get("field", "")),
    )


def _span(entry: Mapping[str, object]) -> Span:
    attributes = cast("dict[str, JsonValue]", dict(cast("Attributes", entry.get("attributes", {}))))
    if "tool" in entry:
        kind, operation, subject = SpanKind.TOOL, "execute_tool", str(entry["tool"])
        attributes.setdefault("gen_ai.tool.name", subject)
    elif "request" in entry:
        kind, operation, subject = SpanKind.MODEL, "chat", "a-model"
    else:
        kind = SpanKind(str(entry["kind"]))
        operation, subject = kind.value, str(entry["name"])
    exception = entry.get("exception")
    event: tuple[SpanEvent, ...] = ()
    if isinstance(exception, str):
        name, _, message = exception.partition(": ")
        told = {"exception.type": name, "exception.message": message}
        event = (SpanEvent(1_001, "exception", told),)
    return Span(
        trace_id="t",
        span_id=str(entry["id"]),
        kind=kind,
        operation=operation,
        name=f"{operation} {subject}",
        start_us=1_000,
        end_us=2_000,
        status=SpanStatus(str(entry.get("status", "ok"))),
        error=_text(entry, "error"),
        attributes=attributes,
        events=event,
        input=_text(entry, "arguments", "request", "input"),
        output=_text(entry, "result", "reply", "output"),
    )


def _text(entry: Mapping[str, object], *keys: str) -> str | None:
    """The first of these that exists, without the line break at the end of a block."""
    found = next((entry[key] for key in keys if key in entry), None)
    return str(found).removesuffix("\n") if found is not None else None
