"""What tests of worker processes share."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from treadle.code.sandbox import processes, workers


@pytest.fixture(params=["forked", "started"])
def importable_worker(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Workers of either kind, which find the functions of this module."""
    if request.param == "started":
        monkeypatch.setattr(processes, "_alone", lambda: False)
    else:
        monkeypatch.setattr(processes, "_alone", lambda: hasattr(os, "fork"))
    workers._shared.close()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parents[2]), *sys.path]))
    yield
    workers._shared.close()
