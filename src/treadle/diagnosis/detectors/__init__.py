"""Detectors: the faults of recorded spans, with evidence. Pure: spans in, findings out."""

from treadle.diagnosis.detectors.detecting import detect, gather
from treadle.diagnosis.detectors.examined import Examined
from treadle.diagnosis.detectors.examining import ALL_LAYERS, examine
from treadle.diagnosis.detectors.finding import Finding, Kind, Layer, Severity
from treadle.diagnosis.detectors.rules import Rule

__all__ = [
    "ALL_LAYERS",
    "Examined",
    "Finding",
    "Kind",
    "Layer",
    "Rule",
    "Severity",
    "detect",
    "examine",
    "gather",
]
