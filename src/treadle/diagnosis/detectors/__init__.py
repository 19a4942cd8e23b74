"""Detectors: the faults of recorded spans, with evidence. Pure: spans in, findings out."""

from treadle.diagnosis.detectors.detecting import detect, gather
from treadle.diagnosis.detectors.examined import Examined
from treadle.diagnosis.detectors.examining import ALL_LAYERS, examine
from treadle.diagnosis.detectors.finding import (
    Evidence,
    Finding,
    Kind,
    Layer,
    Severity,
    SpanReference,
)
from treadle.diagnosis.detectors.places import holds, text_at
from treadle.diagnosis.detectors.reading import Role
from treadle.diagnosis.detectors.rules import Rule

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
