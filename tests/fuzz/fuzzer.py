"""Runs one target under atheris, which mutates inputs and keeps those that reach new code.

libFuzzer ends its process, so a run is a separate process: this module is both the parent's side
(`fuzz`, `minimize`) and, when run as a script, the child.
"""

import hashlib
import importlib
import importlib.util
import os
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fuzz import harness

HAS_ATHERIS = importlib.util.find_spec("atheris") is not None
"""atheris has wheels for Linux only, and not for the newest Python."""

HANG_SECONDS = 20
MEMORY_MB = 2048
LONGEST_INPUT = 4096
"""Bytes. Small inputs find the same faults sooner, and keep the corpus small."""

_ROOT = Path(__file__).parents[2]
_FIND = "found-"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a run. `find` is the input that broke the parser; `report` describes the
    failure.
    """

    find: bytes | None
    report: str


def fuzz(name: str, seconds: int, working: Path) -> Outcome:
    """Fuzz a target for that long. `working` receives the inputs that reach new code."""
    target = harness.load(name)
    for _, data in target.inputs():
        (working / _digest(data)).write_bytes(data)
    with tempfile.TemporaryDirectory() as aside:
        words, finds = Path(aside, "words"), Path(aside, "finds")
        finds.mkdir()
        words.write_text("".join(map(_dictionary_line, target.words)), encoding="ascii")
        flags = [f"-max_total_time={seconds}", f"-artifact_prefix={finds}/"]
        if target.words:
            flags.append(f"-dict={words}")
        ran = _child(name, *flags, str(working))
        found = sorted(finds.iterdir())
        find = found[0].read_bytes() if found else None
    if find is None and ran.returncode:
        raise RuntimeError(f"the fuzzer of {name} did not run:\n{ran.stdout[-3000:]}")
    return Outcome(find, ran.stdout[-3000:])


def keep_find(name: str, data: bytes) -> Path:
    """Put a find into the corpus, where every later run of the tests replays it."""
    path = harness.CORPUS / name / f"{_FIND}{_digest(data)}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def minimize(name: str, working: Path) -> int:
    """Replace the corpus by the smallest set that reaches the same code; finds stay."""
    folder = harness.CORPUS / name
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as smallest:
        ran = _child(name, "-set_cover_merge=1", smallest, str(working))
        if ran.returncode:
            raise RuntimeError(f"the corpus of {name} was not minimized:\n{ran.stdout[-3000:]}")
        for path in folder.iterdir():
            if not path.name.startswith(_FIND):
                path.unlink()
        kept = [path.read_bytes() for path in Path(smallest).iterdir()]
    for data in kept:
        (folder / _digest(data)).write_bytes(data)
    return len(kept)


def _dictionary_line(word: bytes) -> str:
    """A line of libFuzzer's dictionary."""
    return '"' + "".join(f"\\x{byte:02x}" for byte in word) + '"\n'


def _child(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    options = (
        f"-timeout={HANG_SECONDS}",
        f"-rss_limit_mb={MEMORY_MB}",
        f"-max_len={LONGEST_INPUT}",
        "-print_final_stats=1",
    )
    return subprocess.run(
        [sys.executable, __file__, name, *options, *arguments],
        cwd=_ROOT,
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _run() -> None:
    atheris: Any = importlib.import_module("atheris")  # not installed everywhere, and untyped
    script, name, *options = sys.argv
    with atheris.instrument_imports(include=["treadle"]):
        target = harness.load(name)
    again = shlex.join([sys.executable, script, name])  # libFuzzer restarts itself to merge
    atheris.Setup([again, *options], target.check)
    atheris.Fuzz()


if __name__ == "__main__":
    _run()
