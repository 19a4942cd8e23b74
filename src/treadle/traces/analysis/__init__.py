"""Figures and causes out of recorded spans: pure, spans in, statements out."""

from treadle.traces.analysis.rendering import render, render_within
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
    "render",
    "render_within",
    "verify",
    "verify_answer",
    "verify_findings",
    "verify_suspects",
]
