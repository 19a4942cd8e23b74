"""Detectors find faults in recorded spans. They are pure functions of the spans."""

from treadle.diagnosis.detectors.detection import combine, detect
from treadle.diagnosis.detectors.examination import SpanExamination
from treadle.diagnosis.detectors.examiner import ALL_LAYERS
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
    "combine",
    "detect",
]
