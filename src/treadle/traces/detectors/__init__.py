"""Detectors: the faults of recorded spans, with evidence. Pure: spans in, findings out."""

from treadle.traces.detectors.finding import (
    Evidence,
    Finding,
    Kind,
    Layer,
    Severity,
    SpanReference,
)
from treadle.traces.detectors.places import holds, text_at

__all__ = [
    "Evidence",
    "Finding",
    "Kind",
    "Layer",
    "Severity",
    "SpanReference",
    "holds",
    "text_at",
]
