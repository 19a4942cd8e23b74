"""Measures the starts of Treadle: processor time, and the modules that Python imports.

The trees of `--tree` run each command in turn, so that the load of the machine is the same for all
of them. Each tree has its own data folder, with a current index of its copy of the repository. The
packages are those of this interpreter. The modules are counted in a run of their own.

Run: python -m bench.start [--tree FOLDER ...] [--rounds N]
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from bench.processes import processor
from bench.terminal.__main__ import provider

ROOT = Path(__file__).resolve().parent.parent
_QUESTION = "lines 5"
_INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}


@dataclass(frozen=True, slots=True)
class Tree:
    """A version of Treadle, and the folder and the environment of its processes."""

    name: str
    repository: Path
    environment: Mapping[str, str]
    options: Sequence[str] = ()
    """Options of the interpreter."""
    errors: IO[bytes] | int = subprocess.DEVNULL

    @contextmanager
    def process(self, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        """Start the interpreter, and kill it at the end of the context."""
        with subprocess.Popen(
            [sys.executable, *self.options, *arguments], cwd=self.repository, env=self.environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
        ) as process:  # fmt: skip
            try:
                yield process
            finally:
                process.kill()

    def run(self, *arguments: str) -> float:
        """Run the interpreter to its end, and return its processor seconds."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, *self.options, *arguments], cwd=self.repository, check=True,
            env=self.environment, stdout=subprocess.DEVNULL, stderr=self.errors,
        )  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def run(*commands: Sequence[str]) -> Callable[[Tree], float]:
    """Return a start that ends with the process. Several commands run one after the other."""
    return lambda tree: sum(tree.run(*command) for command in commands)


def serve(tree: Tree) -> float:
    """Start a server, and wait until it answers a request."""
    with tree.process("-m", "treadle", "serve", "--port", "0", "--json") as process:
        address = json.loads(_line(process))["address"]
        try:
            urllib.request.urlopen(f"{address}/healthz").close()
        except urllib.error.HTTPError as error:  # early versions have no such route
            error.close()
        return processor(process.pid)


def mcp(tree: Tree) -> float:
    """Start an MCP server, and wait until it answers the first request."""
    with tree.process("-m", "treadle", "mcp") as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps(_INITIALIZE).encode() + b"\n")
        process.stdin.flush()
        if "result" not in json.loads(_line(process)):
            raise ValueError("The MCP server refused the first request.")
        return processor(process.pid)


def _line(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    return process.stdout.readline()


_ASK = ("-m", "treadle", "ask", _QUESTION)

STARTS: Mapping[str, Callable[[Tree], float]] = {
    "an empty interpreter": run(("-c", "pass")),
    "`treadle --help`": run(("-m", "treadle", "--help")),
    "`treadle search`, nothing changed": run(("-m", "treadle", "search", "processor")),
    "`treadle ask`, one reply": run(_ASK),
    "`make demo`": run(_ASK, ("-m", "treadle", "traces", "show", "LAST")),
    "`import treadle.server.app`": run(("-c", "import treadle.server.app")),
    "`treadle serve` until `/healthz` answers": serve,
    "`treadle mcp` until `initialize` is answered": mcp,
}


def modules(start: Callable[[Tree], float], tree: Tree) -> int:
    """Count the modules that the processes of a start import."""
    with tempfile.TemporaryFile() as errors:
        start(replace(tree, options=("-X", "importtime"), errors=errors))
        errors.seek(0)
        # A failed import has a line for each attempt.
        names = {line.rpartition(b"|")[2].strip() for line in errors if b"import time:" in line}
    return len(names) - 1  # without the heading


@contextmanager
def trees(sources: Sequence[Path]) -> Iterator[list[Tree]]:
    """Prepare a data folder and a current index for each tree of sources."""
    with tempfile.TemporaryDirectory() as folder, provider() as address:
        found = []
        for number, source in enumerate(sources):
            base = Path(folder) / str(number)
            repository = base / "repository"
            subprocess.run(["git", "clone", "--quiet", "--depth=1", f"file://{ROOT}", repository],
                           check=True)  # fmt: skip
            environment = {
                **{name: value for name, value in os.environ.items() if "TREADLE" not in name},
                "TREADLE_HOME": str(base / "home"),
                "TREADLE_BASE_URL": address,
                "TREADLE_API_KEY": "key",
                "TREADLE_MODEL": "fake-model",
                "PYTHONPATH": str(source.resolve() / "src"),
            }
            # Otherwise the interpreter compiles every module again in each start.
            environment.pop("PYTHONDONTWRITEBYTECODE", None)
            tree = Tree(source.name, repository, environment)
            tree.run("-m", "treadle", "index")
            found.append(tree)
        yield found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tree", type=Path, action="append", help="the root of a working copy")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="a part of the name of the starts to measure")
    given = parser.parse_args()
    with trees(given.tree or [ROOT]) as measured:
        columns = "".join(f" processor ms: {each.name} | modules |" for each in measured)
        print(f"| start |{columns}\n|---|{'---|---|' * len(measured)}")
        for name, start in STARTS.items():
            if given.only not in name:
                continue
            counts = [modules(start, tree) for tree in measured]
            rounds = [[start(tree) for tree in measured] for _ in range(given.rounds)]
            medians = [statistics.median(times) for times in zip(*rounds, strict=True)]
            cells = "".join(
                f" {seconds * 1e3:.0f} | {count} |"
                for seconds, count in zip(medians, counts, strict=True)
            )
            print(f"| {name} |{cells}", flush=True)


if __name__ == "__main__":
    main()
