"""Other tools, each in a separate environment below `.cache/bench`, queried in the same run."""

import json
import subprocess
import sys
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

from bench.retrieval.methods import Method, Place
from bench.retrieval.packages import CACHE, UnreachableError

SEMBLE = "0.7.0"


def semble(root: Path, queries: Sequence[str]) -> Method:
    """The file ranges that semble's lexical half finds. Raises `UnreachableError`."""
    command = [str(environment("semble", SEMBLE)), str(Path(__file__).with_name("semble_peer.py"))]
    asked = json.dumps({"root": str(root), "queries": list(queries)})
    try:
        done = subprocess.run(command, input=asked, capture_output=True, text=True, check=True)
        answers = dict(zip(queries, json.loads(done.stdout), strict=True))
    except (OSError, subprocess.CalledProcessError, ValueError) as error:
        raise UnreachableError(f"semble {SEMBLE}: {error}") from error
    lines: dict[str, list[int]] = {}

    def place(file: str, first: int, last: int) -> Place:
        if file not in lines:
            sizes = map(len, (root / file).read_bytes().splitlines(keepends=True))
            lines[file] = list(accumulate(sizes, initial=0))
        starts = lines[file]
        return Place(file, starts[first - 1], starts[min(last, len(starts) - 1)])

    return lambda query: [place(*answer) for answer in answers[query]]


def environment(name: str, version: str) -> Path:
    """The interpreter of an environment with the tool."""
    folder = CACHE / "peers" / f"{name}-{version}"
    python = folder / "bin" / "python"
    if not python.exists():
        try:
            subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
            install = [str(python), "-m", "pip", "install", "--quiet", f"{name}=={version}"]
            subprocess.run(install, check=True, stdout=sys.stderr)
        except (OSError, subprocess.CalledProcessError) as error:
            raise UnreachableError(f"{name} {version}: {error}") from error
    return python
