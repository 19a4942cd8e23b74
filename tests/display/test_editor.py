"""How the editor of a person opens a file at a line."""

import pytest

from treadle.display.editor import position_arguments


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("vi", ("+7", "/a b.py")),
        ("/usr/bin/nvim -u NONE", ("+7", "/a b.py")),
        ("nano", ("+7", "/a b.py")),
        ("emacsclient -t", ("+7", "/a b.py")),
        ("code --wait", ("-g", "/a b.py:7")),
        ("hx", ("/a b.py:7",)),
        ("pycharm", ("--line", "7", "/a b.py")),
        ("my-editor", ("/a b.py",)),
        ("vim 'unclosed", ("/a b.py",)),
        ("", ("/a b.py",)),
    ],
)
def test_each_editor_gets_the_line_in_its_own_form(command: str, expected: tuple[str, ...]) -> None:
    assert position_arguments(command, "/a b.py", 7) == expected
