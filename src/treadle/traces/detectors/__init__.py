"""Detectors: the faults of recorded spans, with evidence. Pure: spans in, findings out."""

from treadle.traces.detectors.detecting import ALL_LAYERS, detect
from treadle.traces.detectors.finding import (
    Evidence,
    Finding,
    Kind,
    Layer,
    Severity,
    SpanReference,
)
from treadle.traces.detectors.places import holds, text_at
from treadle.traces.detectors.reading import Role
from treadle.traces.detectors.rules import Rule

__all__ = [
    "ALL_LAYERS",
    "Evidence",
    "Finding",
    "Kind",
    "Layer",
    "Role",
    "Rule",
    "Severity",
    "SpanReference",
    "detect",
    "holds",
    "text_at",
]
