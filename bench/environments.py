"""Environments of other programs, each with its own packages."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def environment(folder: Path, requirements: Sequence[str]) -> Path:
    """The folder of the programs of an environment, which is created if needed.

    `requirements` are the arguments of `pip install`. Raises CalledProcessError if one of them is
    not available.
    """
    complete = folder / "complete"
    wanted = "\n".join(requirements)
    if not complete.exists() or complete.read_text("utf-8") != wanted:
        print(f"installing into {folder.name}", file=sys.stderr, flush=True)
        python = str(folder / "bin" / "python")
        uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
        make, install = [sys.executable, "-m", "venv", "--clear"], [python, "-m", "pip", "install"]
        if uv is not None:
            make, install = [uv, "venv", "--quiet", "--clear", "--python", sys.executable], [
                uv, "pip", "install", "--compile-bytecode", "--python", python,
            ]  # fmt: skip
        settings = {"UV_SYSTEM_CERTS": "true"} | os.environ
        for command in ([*make, str(folder)], [*install, "--quiet", *requirements]):
            subprocess.run(command, check=True, stdout=sys.stderr, env=settings)
        complete.write_text(wanted, encoding="utf-8")
    return folder / "bin"


def node_environment(folder: Path, packages: Sequence[str]) -> Path:
    """The folder of an environment with packages of npm, which is created if needed.

    A module in this folder can import the packages. Raises CalledProcessError if one of them is not
    available.
    """
    complete = folder / "complete"
    wanted = "\n".join(packages)
    if not complete.exists() or complete.read_text("utf-8") != wanted:
        print(f"installing into {folder.name}", file=sys.stderr, flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text("{}\n", encoding="utf-8")
        install = ["npm", "install", "--no-audit", "--no-fund", "--silent", *packages]
        subprocess.run(install, cwd=folder, check=True, stdout=sys.stderr)
        complete.write_text(wanted, encoding="utf-8")
    return folder
