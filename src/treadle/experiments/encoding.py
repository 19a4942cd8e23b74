"""What of an experiment the store keeps as JSON, written and read."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from treadle.experiments.model import Budget, Item, Outcome, Plan, ToolUse, Variant


def dumped(value: Any) -> str:
    """A dataclass as JSON text, with what is in it."""
    return json.dumps(asdict(value))


def read_item(data: str) -> Item:
    """An item as `dumped` wrote it."""
    values: dict[str, Any] = json.loads(data)
    recorded, notes = read_outcome(values.pop("recorded")), tuple(values.pop("notes"))
    return Item(recorded=recorded, notes=notes, **values)


def read_outcome(values: Mapping[str, Any]) -> Outcome:
    """An outcome from its JSON values."""
    calls = tuple(ToolUse(**call) for call in values["tool_calls"])
    return Outcome(**{**values, "tool_calls": calls})


def read_plan(data: str) -> Plan:
    """A plan as `dumped` wrote it."""
    values: dict[str, Any] = json.loads(data)
    variants = tuple(Variant(**each) for each in values.pop("variants"))
    return Plan(variants=variants, budget=Budget(**values.pop("budget")), **values)
