"""Time and memory of building and refreshing a code index, next to semble and ctags, as a table.

Run: python -m bench.index [PATH …]   (without a path: pinned packages, one of 750,000 lines)

Each build is a separate process, timed completely. MB are those of the indexed files. A branch
switch changes the text of every 20th file. semble runs its lexical half without its model, keeps
its index in memory and rebuilds it after a change. `ctags -R` only lists definitions, and is the
lower bound. Processor seconds and memory include workers. On a busy machine processor time is more
reliable than wall time.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench.processes import Cost, run
from bench.retrieval.packages import CACHE, Package, UnreachableError, unpacked
from bench.retrieval.peers import SEMBLE, environment
from treadle.code import CodeIndex
from treadle.code.dense import own_embedding
from treadle.code.files.walk import walk

PACKAGES = (
    Package("pip", "pydantic-ai-slim", "2.68.0"),
    Package("apt", "librust-cargo-dev", "0.66.0-1"),
    Package("npm", "rxjs", "7.8.2"),
    Package("pip", "sympy", "1.14.0"),
)
SWITCHED = 20
REPEATS = 5

BUILD = (
    "import sys; from pathlib import Path; from treadle.code import CodeIndex\n"
    "from treadle.code.dense import own_embedding as static\n"
    "with CodeIndex.open(Path(sys.argv[1]), cache_dir=Path(sys.argv[2]), static=static) as index:\n"
    "    index.refresh()"
)
SEMBLE_BUILD = (
    "import sys; sys.path.insert(0, sys.argv[2])\n"
    "import semble.index.index as implementation; from semble_peer import NoModel\n"
    "implementation.load_model = lambda *_: (NoModel(), 'none')\n"
    "implementation.SembleIndex.from_path(sys.argv[1])"
)
HEADER = (
    "| tree | files | lines | MB | items | tool | cold build s | MB/s | processor s "
    "| peak MB, largest process | peak MB, all | index MB | no change ms | one file ms "
    "| 5 % of files s |"
)


def ctags() -> str | None:
    """The command, from the system or unpacked from its Debian package into the cache."""
    if shutil.which("ctags") is not None:
        return "ctags"
    folder = CACHE / "peers" / "ctags"
    found = folder / "usr" / "bin" / "ctags-universal"
    if not found.exists():
        folder.mkdir(parents=True, exist_ok=True)
        try:
            download = ["apt-get", "download", "--quiet", "universal-ctags"]
            subprocess.run(download, cwd=folder, check=True, stdout=sys.stderr)
            (archive,) = folder.glob("*.deb")
            subprocess.run(["dpkg-deb", "--extract", str(archive), str(folder)], check=True)
            archive.unlink()
        except (OSError, ValueError, subprocess.CalledProcessError):
            return None
    return str(found)


def refreshes(index: CodeIndex, root: Path, paths: list[str]) -> tuple[float, float, float]:
    """Seconds without a change, after one changed file, and after every 20th file changed."""
    index.refresh()
    unchanged = statistics.median(index.refresh().seconds for _ in range(REPEATS))
    extra = root / "treadle_bench_extra.py"
    changed: list[float] = []
    for turn in range(REPEATS + 1):
        extra.write_text(f"def number_{turn}(): return {turn}\n" * 50)
        changed.append(index.refresh().seconds)
    for path in paths[::SWITCHED]:
        (root / path).write_bytes((root / path).read_bytes() + b"\n")
    return unchanged, statistics.median(changed[1:]), index.refresh().seconds


def row(cells: list[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def cost_cells(cost: Cost, size: float) -> list[object]:
    return [
        f"{cost.seconds:.1f}", f"{size / cost.seconds:.1f}", f"{cost.processor:.1f}",
        f"{cost.largest:.0f}", f"{cost.together:.0f}",
    ]  # fmt: skip


def measure(tree: Path, folder: Path) -> list[str]:
    """The rows of a tree, which is copied and then changed."""
    root, cache = folder / "tree", folder / "cache"
    shutil.copytree(tree, root, symlinks=True)
    cost = run([sys.executable, "-c", BUILD, str(root), str(cache)])
    with CodeIndex.open(root, cache_dir=cache, static=own_embedding) as index:
        status = index.status()
        skipped = index.refresh().skipped
        indexed = [entry for entry in walk(root) if entry.path not in skipped]
        size = sum(entry.size for entry in indexed) / 1e6
        lines = sum((root / entry.path).read_bytes().count(b"\n") for entry in indexed)
        times = refreshes(index, root, [entry.path for entry in indexed])
    what: list[object] = [tree.name, status.files, lines, f"{size:.1f}", status.items]
    unchanged, changed, switched = times
    rows = [
        row([
            *what, "Treadle", *cost_cells(cost, size), f"{status.size_bytes / 1e6:.0f}",
            f"{unchanged * 1000:.0f}", f"{changed * 1000:.0f}", f"{switched:.1f}",
        ])
    ]  # fmt: skip
    for name, command in peers(root):
        try:
            rows.append(row([*[""] * 5, name, *cost_cells(run(command()), size), *["-"] * 4]))
        except (OSError, UnreachableError, subprocess.CalledProcessError) as error:
            print(f"{name}: {error}", file=sys.stderr)
    return rows


def peers(root: Path) -> list[tuple[str, Callable[[], list[str]]]]:
    """Other tools with the command that builds their index of a tree."""

    def semble() -> list[str]:
        python = str(environment("semble", SEMBLE))
        helpers = str(Path(__file__).with_name("retrieval"))
        return [python, "-c", SEMBLE_BUILD, str(root), helpers]

    def tags() -> list[str]:
        command = ctags()
        if command is None:
            raise UnreachableError("it is not installed and cannot be had")
        return [command, "-R", "-f", os.devnull, str(root)]

    return [(f"semble {SEMBLE}, no model", semble), ("ctags -R", tags)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path)
    trees: list[Path] = parser.parse_args().paths
    if not trees:
        for package in PACKAGES:
            try:
                trees.append(unpacked(package))
            except UnreachableError as error:
                print(error, file=sys.stderr)
    print(HEADER)
    print("|" + "---|" * (HEADER.count("|") - 1))
    for tree in trees:
        with tempfile.TemporaryDirectory() as folder:
            for line in measure(tree.resolve(), Path(folder)):
                print(line, flush=True)


if __name__ == "__main__":
    main()
