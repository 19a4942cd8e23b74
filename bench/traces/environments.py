"""Environments of the other programs: one for each pinned requirement, in `.cache/bench`."""

from pathlib import Path

from bench.environments import environment
from bench.retrieval.packages import CACHE

PHOENIX = "arize-phoenix==20.26.1"
MLFLOW = "mlflow==3.17.2"
LITELLM = "litellm[proxy]==1.108.7"


def programs(requirement: str) -> Path:
    """The folder of an environment's programs, which is created if needed.

    Raises CalledProcessError if the requirement is not available.
    """
    return environment(CACHE / "traces" / requirement, [requirement])
