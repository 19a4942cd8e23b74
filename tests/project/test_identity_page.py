"""The commands of the page about users and keys, in the order in which a reader types them."""

import shlex
from pathlib import Path

from tests.cli.command import treadle
from tests.project.pages import ROOT, commands

PAGE = ROOT / "docs" / "identity.md"


def test_commands_of_the_page_run_in_their_order(tmp_path: Path) -> None:
    home = tmp_path / "home"
    typed = [command.text.partition("  #")[0] for command in commands(PAGE)]
    ran = 0
    for text in typed:
        _, *words = shlex.split(text)
        invited = words[:2] in (["users", "role"], ["users", "remove"])
        if words[0] == "serve" or invited:  # nobody has accepted the invitation of the page
            continue
        done = treadle(*words, home=home)
        assert done.status == 0, f"{text}\n{done.err}"
        ran += 1
    assert ran >= 12
    entries = treadle("audit", "--limit", "100", home=home).out
    assert "key revoked" in entries
    assert "user invited" in entries
    assert "project removed" in entries
