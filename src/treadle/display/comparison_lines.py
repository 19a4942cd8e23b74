"""Formats the comparison of two traces, runs, threads or spans as lines for a terminal."""

import re
from collections.abc import Iterator

from treadle.clock import when
from treadle.diagnosis.comparison_records import (
    Aspect,
    ComparedSide,
    ComparedSpan,
    ComparedStep,
    TraceComparison,
)
from treadle.display.lines import one_line
from treadle.display.trace_tree import describe
from treadle.traces.amounts import cost, duration, tokens
from treadle.visible import in_line

_UNKNOWN = "unknown"
_HUNK = re.compile(r"@@ -\d+(,\d+)? \+\d+(,\d+)? @@$")
"""Matches the line with the positions that precedes each part of a unified diff."""


def comparison_lines(comparison: TraceComparison) -> Iterator[str]:
    """Yield the summary, the totals of both sides, the tools that differ, and the steps."""
    yield in_line(comparison.summary)
    yield ""
    for letter, side in (("A", comparison.a), ("B", comparison.b)):
        yield f"{letter}  {in_line(str(side.subject))}  {when(side.start_us)}"
        if side.question:
            yield f"   question: {one_line(side.question)}"
        if side.models:
            noun = "model" if len(side.models) == 1 else "models"
            yield f"   {noun}: {one_line(', '.join(side.models))}"
        if side.releases:
            noun = "release" if len(side.releases) == 1 else "releases"
            yield f"   {noun}: {one_line(', '.join(side.releases))}"
        yield f"   {_side(side)}"
    tools = [tool for tool in comparison.tools if tool.a != tool.b]
    if tools:
        yield ""
        yield "tools with another number of calls (A → B):"
        yield from (f"   {one_line(tool.name)}: {tool.a} → {tool.b}" for tool in tools)
    yield ""
    yield "steps in order (= equal, ≠ different, - only in A, + only in B; durations A → B):"
    for step in comparison.steps:
        yield from _step_lines(step)


def _side(side: ComparedSide) -> str:
    return f"{side.status}, {duration(side.duration_us)}, {describe(side.totals)}"


def _step_lines(step: ComparedStep) -> Iterator[str]:
    name = f"{step.kind} {one_line(step.name)}"
    a, b = step.a, step.b
    if a is None or b is None:
        mark, only = ("-", a) if b is None else ("+", b)
        yield f" {mark} {name}  {_figures(only)}" if only else f" {mark} {name}"
        return
    mark = "≠" if step.changes else "="
    yield f" {mark} {name}  {duration(a.duration_us)} → {duration(b.duration_us)}"
    texts = {text.aspect: text for text in step.texts}
    for aspect in step.changes:
        text = texts.get(aspect)
        if text is None:
            yield f"     {aspect}: {_value(a, aspect)} → {_value(b, aspect)}"
            continue
        yield f"     {aspect} (- A, + B):"
        for number, line in enumerate(text.lines):
            if not _HUNK.match(line):
                yield f"       {in_line(line)}"
            elif number:
                yield "       …"
        if text.cut:
            yield "       … further differences are not shown"


def _figures(span: ComparedSpan) -> str:
    parts = (str(span.status), duration(span.duration_us), tokens(span.tokens))
    return ", ".join(filter(None, (*parts, "" if span.cost is None else cost(span.cost))))


def _value(span: ComparedSpan, aspect: Aspect) -> str:
    match aspect:
        case Aspect.TOKENS:
            return tokens(span.tokens) or _UNKNOWN
        case Aspect.COST:
            return _UNKNOWN if span.cost is None else cost(span.cost)
        case _:
            value = getattr(span, aspect)
            return "none" if value is None else one_line(str(value))
