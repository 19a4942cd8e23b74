"""Plans of edits of the one file `f`, for the tests of planning."""

import pytest

from treadle.edits.model import EditError, Plan, splice
from treadle.edits.plan import plan
from treadle.edits.requests import EditRequest


def planned(data: bytes | None, *requests: EditRequest) -> Plan:
    """The plan where only the file `f` is there."""
    return plan(requests, lambda path: data if path == "f" else None)


def result(data: bytes, planned: Plan) -> bytes:
    """The file once the plan, which changes nothing else, is done."""
    (change,) = planned.changes
    return splice(data, change.hunks)


def failure(data: bytes | None, *requests: EditRequest) -> EditError:
    """The error of a plan that cannot be made."""
    with pytest.raises(EditError) as caught:
        planned(data, *requests)
    return caught.value
