"""Figures and causes out of recorded spans: pure, spans in, statements out."""

from treadle.diagnosis.report.material import MOST_READ, AnalysisReader
from treadle.diagnosis.report.quote_verification import (
    Verified,
    VerifiedAnswer,
    verify,
    verify_answer,
    verify_findings,
    verify_suspects,
)
from treadle.diagnosis.report.rendering import render, render_within
from treadle.diagnosis.report.report import MOST_ISSUES, analyse
from treadle.diagnosis.report.results import (
    Cause,
    Figure,
    Focus,
    Report,
    Suspect,
    Table,
    Unit,
)

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
    "Verified",
    "VerifiedAnswer",
    "analyse",
    "render",
    "render_within",
    "verify",
    "verify_answer",
    "verify_findings",
    "verify_suspects",
]
