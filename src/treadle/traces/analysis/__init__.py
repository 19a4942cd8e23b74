"""Figures and causes out of recorded spans: pure, spans in, statements out."""

from treadle.traces.analysis.material import MOST_READ, AnalysisReader
from treadle.traces.analysis.rendering import render, render_within
from treadle.traces.analysis.report import MOST_ISSUES, analyse
from treadle.traces.analysis.results import (
    Cause,
    Figure,
    Focus,
    RepeatedFailure,
    Report,
    Suspect,
    Table,
    Unit,
)
from treadle.traces.analysis.verifying import (
    Verified,
    VerifiedAnswer,
    verify,
    verify_answer,
    verify_findings,
    verify_suspects,
)

__all__ = [
    "MOST_ISSUES",
    "MOST_READ",
    "AnalysisReader",
    "Cause",
    "Figure",
    "Focus",
    "RepeatedFailure",
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
