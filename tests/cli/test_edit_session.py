"""The session of docs/edit-session.md, played again."""

import json
from pathlib import Path

from scripts.write_edit_session import PAGE, with_transcript
from tests.cli.edit_session import play


async def test_context_denial_partial_approval_failed_check_fix_and_undo(tmp_path: Path) -> None:
    shown, results, files = await play(tmp_path)
    context, denied, partial, failing, fix, passing = map(json.loads, results)
    assert "def total(self) -> float:" in context["context"][0]["snippet"]
    assert (denied["ok"], denied["kind"]) == (False, "denied")
    assert "round with the helper that is there" in denied["error"]
    assert (partial["state"], partial["said"]) == ("applied", "leave money.py alone")
    assert [file.get("denied") for file in partial["files"]] == [None, 1]
    assert (failing["status"], failing["counts"]) == ("failed", {"passed": 1, "failed": 1})
    assert failing["diagnostics"][0]["file"] == "tests/test_cart.py"
    assert fix["state"] == "applied"
    assert (passing["status"], passing["counts"]) == ("passed", {"passed": 2})
    assert "        return rounded(amount * 0.95 if amount > 100 else amount)" in files["cart.py"]
    assert '    """To the cent."""' in files["money.py"]
    page = PAGE.read_text("utf-8")
    assert with_transcript(page, shown) == page, "run `make docs`"
