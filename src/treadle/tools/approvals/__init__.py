"""Approval: which calls are run, which a person is asked about, and which are refused."""

from treadle.tools.approvals.gate import Approvals
from treadle.tools.approvals.grants import Grant, GrantStore, Remembered
from treadle.tools.approvals.question import Decision, Question
from treadle.tools.approvals.rules import Rules, Verdict

__all__ = [
    "Approvals",
    "Decision",
    "Grant",
    "GrantStore",
    "Question",
    "Remembered",
    "Rules",
    "Verdict",
]
