"""Writes the transcript in docs/edit-session.md by playing the session."""

import asyncio
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "edit-session.md"
_BEGIN = "```text\n"
_END = "```\n"


def with_transcript(page: str, transcript: str) -> str:
    """`page` with the transcript in its block of text."""
    before, _, rest = page.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}{transcript}{_END}{after}"


def main() -> None:
    """Play and write."""
    sys.path.insert(0, str(ROOT))
    from tests.cli.edit_session import play

    with tempfile.TemporaryDirectory() as folder:
        shown, _, _ = asyncio.run(play(Path(folder)))
    PAGE.write_text(with_transcript(PAGE.read_text("utf-8"), shown), encoding="utf-8")


if __name__ == "__main__":
    main()
