"""The check of tracked files finds forbidden text."""

import re
from pathlib import Path

import pytest

from scripts.check_tracked_files import REGISTRIES, machine_paths


@pytest.mark.parametrize("host", ["py" + "pi.org", "registry.npm" + "js.org", "crates" + ".io"])
def test_addresses_of_registries_are_found(host: str) -> None:
    assert re.search(REGISTRIES, f"see https://{host}/simple")


def test_the_folders_of_a_machine_are_found_and_ordinary_ones_are_not() -> None:
    folders = (Path("/home/ann/treadle"), Path("/root"), Path("/usr"), Path("/"))
    pattern = re.compile("|".join(machine_paths(*folders)))
    assert pattern.search("open /home/ann/treadle/src")
    assert pattern.search(f"see {folders[1]}/notes")
    assert not pattern.search("/usr/bin/env bash, src/treadle, /tmp/x, C:/Users")
