"""Detectors, which find faults in recorded spans. A detector is a pure function of the spans."""

from treadle.diagnosis.detectors.detection import detect
from treadle.diagnosis.detectors.examination import SpanExamination
from treadle.diagnosis.detectors.finding import Finding, Kind, Layer, Severity
from treadle.diagnosis.detectors.user_rules import Rule

__all__ = [
    "Finding",
    "Kind",
    "Layer",
    "Rule",
    "Severity",
    "SpanExamination",
    "detect",
]
