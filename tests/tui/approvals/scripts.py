"""Replies of the fake provider that make edits, reads and checks, for the tests of approvals."""

from pathlib import Path

from tests.fakes.replies import Answer, Call

CALC = "LIMIT = 10\n\n" + "".join(f"VALUE_{n} = {n}\n" for n in range(15)) + "\nSTEP = 1\n"
UTIL = "def clean(name):\n    return name.strip()\n"


def replaced(file: str, old: str, new: str) -> dict[str, object]:
    """One edit of a call of apply_code_edit."""
    return {"file": file, "replace": {"old": old, "new": new}}


EDIT = Answer(
    "I change two files.",
    (
        Call(
            "apply_code_edit",
            {
                "edits": [
                    replaced("calc.py", "LIMIT = 10", "LIMIT = 20"),
                    replaced("calc.py", "STEP = 1", "STEP = 2"),
                    replaced("util.py", "name.strip()", "name.strip().lower()"),
                ]
            },
        ),
    ),
)
"""Three hunks in two files."""
READ = Answer("I read it.", (Call("read_file", {"path": ".env"}),))
DONE = Answer("Done.")


def repository(folder: Path) -> Path:
    """Create the repository that the replies are about, and return its root."""
    root = folder / "repo"
    root.mkdir()
    (root / "calc.py").write_text(CALC)
    (root / "util.py").write_text(UTIL)
    (root / ".env").write_text("COLOUR=blue\n")
    return root
