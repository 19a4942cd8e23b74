"""The report on a set of recorded spans: figures, likely causes and recommendations."""

from treadle.diagnosis.report.markdown import render
from treadle.diagnosis.report.model import (
    Cause,
    Figure,
    Focus,
    Report,
    Suspect,
    Table,
    Unit,
)
from treadle.diagnosis.report.report import MOST_ISSUES, analyse
from treadle.diagnosis.report.span_set import MOST_READ, AnalysisReader

__all__ = [
    "MOST_ISSUES",
    "MOST_READ",
    "AnalysisReader",
    "Cause",
    "Figure",
    "Focus",
    "Report",
    "Suspect",
    "Table",
    "Unit",
    "analyse",
    "render",
]
