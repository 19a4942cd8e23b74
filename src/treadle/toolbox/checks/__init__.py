"""Tools that run the checks of a project."""

from typing import Any

from treadle.checks.service import Checks
from treadle.toolbox.checks.run_check import RunCheck
from treadle.tools.contract import Tool

__all__ = ["check_tools"]


def check_tools(checks: Checks) -> list[Tool[Any, Any]]:
    """The tools that run the checks of a repository."""
    return [RunCheck(checks)]
