"""Fuzzes every target for a few seconds; FUZZ_SECONDS sets another time, such as 600."""

import os
from pathlib import Path

import pytest

from tests.fuzz import fuzzer, harness

SECONDS = int(os.environ.get("FUZZ_SECONDS", "5"))


@pytest.mark.slow
@pytest.mark.timeout(SECONDS + 120)
@pytest.mark.skipif(not fuzzer.HAS_ATHERIS, reason="atheris has no wheel for this Python")
@pytest.mark.parametrize("name", harness.names())
def test_fuzzer_finds_no_undocumented_error(name: str, tmp_path: Path) -> None:
    outcome = fuzzer.fuzz(name, SECONDS, tmp_path)
    if outcome.find is not None:
        kept = fuzzer.keep_find(name, outcome.find)
        pytest.fail(f"{kept.name} of {name} breaks its parser:\n{outcome.report}")
