"""The line of a setting is found in every notation of TOML."""

import pytest

from treadle.config.layers import line_of

TEXT = """\
# model = "not this"
model = "p/m"
tools.timeout = 3

[providers."my.host"]  # a quoted name
base_url = "http://127.0.0.1/v1"
preferences = { order = ["a"] }

[ context ]
'automatic' = "off"
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("model",), 2),
        (("tools", "timeout"), 3),
        (("providers", "my.host", "base_url"), 6),
        (("providers", "my.host", "preferences", "order"), 7),
        (("providers", "my.host"), 5),
        (("context", "automatic"), 10),
        (("nowhere",), None),
    ],
)
def test_line_of_a_setting_is_found(path: tuple[str, ...], line: int | None) -> None:
    assert line_of(TEXT, path) == line
