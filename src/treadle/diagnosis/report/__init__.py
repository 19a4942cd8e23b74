"""The report on a set of recorded spans: figures, likely causes and recommendations."""

from treadle.diagnosis.report.markdown import render
from treadle.diagnosis.report.model import Cause, Focus, Report, Suspect, Unit
from treadle.diagnosis.report.report import analyse

__all__ = ["Cause", "Focus", "Report", "Suspect", "Unit", "analyse", "render"]
