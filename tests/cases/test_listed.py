"""Each tool-calling fault that users have met has a test, found by its id."""

import re
from pathlib import Path

import pytest

LISTED = (
    *(1, 2, 3, 4, 6, 7, 9, 10, 11, 12, 13, 15, 16, 17, 18, 19, 20, 21, 23, 25, 26, 28, 29, 30),
    *(32, 33, 37),
)
"""The ids T1 … T37; missing numbers were never given to a case."""


@pytest.mark.parametrize("number", LISTED)
def test_each_listed_case_has_a_test(number: int) -> None:
    tests = "\n".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    assert re.search(rf"^async def test_t{number:02}_\w+\(", tests, re.MULTILINE)
