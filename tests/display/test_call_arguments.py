"""The argument by which a person recognises a call."""

import pytest

from treadle.display.call_arguments import main_argument


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ('{"lines": "1-3", "path": "a.py"}', "a.py"),
        ('{"token_budget": 700}', ""),
        ('{"token_budget": 700, "topic": "parsing"}', "parsing"),
        ("not JSON", "not JSON"),
    ],
)
def test_main_argument_is_a_text_that_a_person_recognises(arguments: str, shown: str) -> None:
    assert main_argument(arguments) == shown
