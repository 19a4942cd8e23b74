"""The planted traces: program, shape, size, fault and position of each."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Literal

from bench.analyst import faults
from bench.analyst.apps import TUNED_APPS, App
from bench.analyst.making import BEGIN_US, Fault, Maker
from treadle.diagnosis.evidence import SpanReference
from treadle.diagnosis.report import Cause
from treadle.spans.span import Span

Shape = Literal["single", "team", "nested"]
EARLIER = 4
"""Good runs of the same program that are also in the store, if a case asks for them."""


@dataclass(frozen=True, slots=True)
class Case:
    """A trace to generate. `named` is what a correct answer calls the cause."""

    name: str
    app: str
    spans: int
    """The approximate number of spans."""
    fault: Fault | None
    named: Cause | None
    shape: Shape = "team"
    earlier: bool = False
    offers_tools: bool = True
    tools_below_models: bool = False


@dataclass(frozen=True, slots=True)
class Planted:
    """A generated trace, and the truth about it."""

    case: Case
    trace_id: str
    spans: tuple[Span, ...]
    earlier: tuple[Span, ...]
    cause: SpanReference | None
    consequences: frozenset[SpanReference]


TABLE = """
empty result, small | travel_assistant | 20 | silent_empty | EMPTY_RESULT | single
empty result, middling | support_agent | 300 | silent_empty | EMPTY_RESULT |
argument misnamed and refused | support_agent | 60 | misnamed_refused | WRONG_ARGUMENT |
argument misnamed and ignored | travel_assistant | 200 | misnamed_ignored | WRONG_ARGUMENT | untold
argument misnamed, tools told | analytics_bot | 40 | misnamed_ignored | WRONG_ARGUMENT | single
loop | coding_agent | 50 | loop | LOOP | single
loop in a large trace | travel_assistant | 2000 | loop | LOOP |
retries | support_agent | 120 | retry_storm | RETRIES | earlier
a document in one request | support_agent | 150 | big_prompt | COST_SPIKE | earlier
much reasoning | analytics_bot | 80 | long_reasoning | COST_SPIKE |
much reasoning, large trace | coding_agent | 1000 | long_reasoning | COST_SPIKE |
large result | analytics_bot | 40 | large_result | LARGE_RESULT | single
large result of an agent | travel_assistant | 200 | large_result | LARGE_RESULT | earlier
slow tool | travel_assistant | 1000 | slow_tool | SLOW_STEP |
slow tool, small, nothing before | support_agent | 20 | slow_tool | SLOW_STEP | single
slow tool, small, good runs before | coding_agent | 24 | slow_tool | SLOW_STEP | single earlier
slow model | analytics_bot | 300 | slow_model | SLOW_STEP |
reply cut | travel_assistant | 30 | truncated | TRUNCATED_OUTPUT | single
reply cut, large trace | support_agent | 3000 | truncated | TRUNCATED_OUTPUT |
two languages | travel_assistant | 40 | two_languages | CONTRADICTORY_PROMPT | single
two habits | travel_assistant | 100 | two_habits | CONTRADICTORY_PROMPT |
two lengths | analytics_bot | 60 | two_lengths | CONTRADICTORY_PROMPT |
another model | support_agent | 200 | other_model | OTHER_MODEL | earlier
answered by another model | coding_agent | 60 | answered_by_other | OTHER_MODEL | earlier
cache missed | coding_agent | 40 | cache_missed | CACHE_MISS | single
cache broken | travel_assistant | 60 | cache_broken | CACHE_MISS | single earlier
exception in a result | support_agent | 500 | swallowed_in_result | SWALLOWED_EXCEPTION |
exception as an event | travel_assistant | 60 | swallowed_as_event | SWALLOWED_EXCEPTION |
one fails, all fail | analytics_bot | 100 | cascade | FAILED_CALL |
one of ten thousand fails quietly | support_agent | 10000 | failed_quietly | FAILED_CALL |
"""
"""Name, program, spans, fault, and the name of the cause.

`single`: one agent; `earlier`: good runs before it; `untold`: the spans do not record which tools
were offered.
"""
_SHAPES: tuple[Shape, ...] = ("single", "nested")


def cases(table: str, kinds: ModuleType) -> tuple[Case, ...]:
    """The cases of a table, whose faults are functions of a module."""
    found = []
    for line in table.strip().splitlines():
        name, app, spans, fault, named, words = (part.strip() for part in line.split("|"))
        flags = words.split()
        found.append(
            Case(
                name=name,
                app=app,
                spans=int(spans),
                fault=getattr(kinds, fault),
                named=Cause[named],
                shape=next((shape for shape in _SHAPES if shape in flags), "team"),
                tools_below_models="below" in flags,
                earlier="earlier" in flags,
                offers_tools="untold" not in flags,
            )
        )
    return tuple(found)


TUNED = cases(TABLE, faults)


def plant(case: Case, seed: int, apps: Mapping[str, App] = TUNED_APPS) -> Planted:
    """Generate the trace of a case. The fault is in the middle half of it."""
    app = apps[case.app]
    turns, agents = _size(case)
    draw = random.Random(f"{case.name} {seed}")
    middle = draw.randrange(agents // 4, max(agents // 4 + 1, 3 * agents // 4))
    turn = (
        draw.randrange(1, max(2, turns - 1))
        if case.shape == "team"
        else draw.randrange(turns // 4 + 1, turns - turns // 4 - 1)
    )
    maker = _maker(case, app, seed, fault_at=(middle, turn))
    _run(maker, case, agents, turns)
    return Planted(
        case=case,
        trace_id=maker.trace_id,
        spans=tuple(maker.spans),
        earlier=tuple(_earlier(case, app, seed)) if case.earlier else (),
        cause=maker.cause,
        consequences=frozenset(maker.consequences),
    )


def healthy(seed: int, count: int, apps: Mapping[str, App] = TUNED_APPS) -> Iterator[Planted]:
    """Traces without a fault, except for errors that are corrected at once."""
    draw = random.Random(seed)
    for number in range(count):
        name = sorted(apps)[number % len(apps)]
        spans = draw.choice((20, 40, 100, 300))
        shape: Shape = "single" if spans < 50 else "team"
        yield plant(Case(f"good {number}", name, spans, None, None, shape), seed + number, apps)


def _size(case: Case) -> tuple[int, int]:
    """Turns of each agent, and number of agents."""
    if case.shape == "single":
        return max(8, case.spans // 2), 1
    turns = 5
    return turns, max(2, case.spans // (2 * turns + 1))


def _maker(
    case: Case,
    app: App,
    seed: int,
    *,
    fault_at: tuple[int, int] | None = None,
    begin_us: int = BEGIN_US,
) -> Maker:
    return Maker(
        app,
        seed,
        fault_at,
        case.fault,
        begin_us=begin_us,
        offers_tools=case.offers_tools,
        tools_below_models=case.tools_below_models,
    )


def _run(maker: Maker, case: Case, agents: int, turns: int) -> None:
    if case.shape == "single":
        maker.single(turns)
    elif case.shape == "nested":
        maker.nested(max(1, agents // 2), 2, turns)
    else:
        maker.team(agents, turns)


def _earlier(case: Case, app: App, seed: int) -> Iterator[Span]:
    turns, agents = _size(replace(case, spans=min(case.spans, 120)))
    for number in range(1, EARLIER + 1):
        begin = BEGIN_US - number * 3_600_000_000
        good = replace(case, fault=None)
        maker = _maker(good, app, 1_000 * seed + number, begin_us=begin)
        _run(maker, case, agents, turns)
        yield from maker.spans
