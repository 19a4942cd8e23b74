"""Environments of the other programs: one for each pinned requirement, in `.cache/bench`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from bench.retrieval.packages import CACHE

PHOENIX = "arize-phoenix==20.26.1"
MLFLOW = "mlflow==3.17.2"
LITELLM = "litellm[proxy]==1.108.7"


def programs(requirement: str) -> Path:
    """The folder of an environment's programs, which is created if needed.

    Raises CalledProcessError if the requirement is not available.
    """
    folder = CACHE / "traces" / requirement
    complete = folder / "complete"
    python = str(folder / "bin" / "python")
    if not complete.exists():
        print(f"installing {requirement}", file=sys.stderr, flush=True)
        uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
        make, install = [sys.executable, "-m", "venv"], [python, "-m", "pip", "install"]
        if uv is not None:
            make, install = [uv, "venv", "--quiet", "--clear", "--python", sys.executable], [
                uv, "pip", "install", "--compile-bytecode", "--python", python,
            ]  # fmt: skip
        environment = {"UV_SYSTEM_CERTS": "true"} | os.environ
        subprocess.run([*make, str(folder)], check=True, stdout=sys.stderr, env=environment)
        subprocess.run(
            [*install, "--quiet", requirement], check=True, stdout=sys.stderr, env=environment
        )
        complete.touch()
    return folder / "bin"
