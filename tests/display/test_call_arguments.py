"""The argument by which a person recognises a call."""

import pytest

from treadle.display.call_arguments import main_argument, short_arguments


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


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (
            '{"city": "Zürich", "days": 3, "at": [1, {"x": null}]}',
            'city: Zürich, days: 3, at: [1, {"x": null}]',
        ),
        ('{"args": ["Oslo", 2], "kwargs": {"unit": "C"}}', "Oslo, 2, unit: C"),
        ('{"args": "a text"}', "args: a text"),
        ('["Oslo"]', '["Oslo"]'),
        ("not JSON", "not JSON"),
        ("{}", ""),
        ("", ""),
    ],
)
def test_short_arguments_are_names_and_values(arguments: str, shown: str) -> None:
    assert short_arguments(arguments) == shown
