"""Detectors: the faults of recorded spans, with evidence. Pure: spans in, findings out."""

from treadle.traces.detectors.detecting import detect, gather
from treadle.traces.detectors.examined import Examined
from treadle.traces.detectors.examining import ALL_LAYERS, examine
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
    "Examined",
    "Finding",
    "Kind",
    "Layer",
    "Role",
    "Rule",
    "Severity",
    "SpanReference",
    "detect",
    "examine",
    "gather",
    "holds",
    "text_at",
]
