"""The check of tracked files finds what it is there to find."""

import re

import pytest

from scripts.check_tracked_files import REGISTRIES, ROOT, machine_paths


@pytest.mark.parametrize("host", ["py" + "pi.org", "registry.npm" + "js.org", "crates" + ".io"])
def test_addresses_of_registries_are_found(host: str) -> None:
    assert re.search(REGISTRIES, f"see https://{host}/simple")


def test_the_folder_of_the_clone_is_found_and_ordinary_paths_are_not() -> None:
    pattern = re.compile("|".join(machine_paths()))
    assert pattern.search(f"open {ROOT}/src")
    assert not pattern.search("/usr/bin/env bash, src/treadle, /tmp/x, C:/Users")
