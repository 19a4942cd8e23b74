"""Detectors: the faults of recorded spans, with evidence. Pure: spans in, findings out."""

from treadle.diagnosis.detectors.detection import detect, gather
from treadle.diagnosis.detectors.examination import SpanExamination
from treadle.diagnosis.detectors.examiner import ALL_LAYERS, examine
from treadle.diagnosis.detectors.finding import Finding, Kind, Layer, Severity
from treadle.diagnosis.detectors.user_rules import Rule

__all__ = [
    "ALL_LAYERS",
    "Finding",
    "Kind",
    "Layer",
    "Rule",
    "Severity",
    "SpanExamination",
    "detect",
    "examine",
    "gather",
]
