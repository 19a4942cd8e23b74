"""Plans of edits of the one file `f`, for the tests of plans."""

import pytest

from treadle.edits.model import EditError, Plan, splice
from treadle.edits.plan import plan
from treadle.edits.requests import EditRequest


def planned(data: bytes | None, *requests: EditRequest) -> Plan:
    """The plan for a tree that has only the file `f`."""
    return plan(requests, lambda path: data if path == "f" else None)


def result(data: bytes, planned: Plan) -> bytes:
    """The content of the file after the plan, which changes nothing else."""
    (change,) = planned.changes
    return splice(data, change.hunks)


def failure(data: bytes | None, *requests: EditRequest) -> EditError:
    """The error of an impossible plan."""
    with pytest.raises(EditError) as caught:
        planned(data, *requests)
    return caught.value
