"""Time and memory of building and refreshing the code index, as a Markdown table.

Run: python -m bench.index [PATH …]   (without a path: installed packages, about 10,000 items)

MB are those of the files that are indexed. Processor seconds count this process and its workers;
with others at work they tell more than the clock. A branch switch is another text in each 20th
indexed file. Where `ctags` is installed, its time over the same tree is the floor.
"""

import argparse
import os
import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from bench.corpus import make_corpus
from treadle.code import CodeIndex
from treadle.code.files import walk

SWITCHED = 20


def cpu_seconds() -> float:
    """Processor time of this process and of its finished children."""
    return sum(os.times()[:4])


def switched(root: Path, index: CodeIndex, paths: list[str]) -> float:
    """Seconds of a refresh after every 20th file changed; the tree is put back."""
    chosen = [root / path for path in paths[::SWITCHED]]
    before = [path.read_bytes() for path in chosen]
    try:
        for path, data in zip(chosen, before, strict=True):
            path.write_bytes(data + b"\n")
        return index.refresh().seconds
    finally:
        for path, data in zip(chosen, before, strict=True):
            path.write_bytes(data)


def ctags_seconds(root: Path) -> str:
    """Seconds of `ctags -R`, or a dash where it is not installed."""
    if shutil.which("ctags") is None:
        return "-"
    started = time.perf_counter()
    subprocess.run(["ctags", "-R", "-f", os.devnull, str(root)], check=False, capture_output=True)
    return f"{time.perf_counter() - started:.1f}"


def measure(root: Path, cache: Path) -> str:
    """One row of the table; the tree gets a file that is removed again."""
    with CodeIndex.open(root, cache_dir=cache) as index:
        started = cpu_seconds()
        cold = index.refresh()
        cpu = cpu_seconds() - started
        indexed = [entry for entry in walk(root) if entry.path not in cold.skipped]
        size = sum(entry.size for entry in indexed) / 1e6
        lines = sum((root / entry.path).read_bytes().count(b"\n") for entry in indexed)
        index.refresh()
        unchanged = min(index.refresh().seconds for _ in range(5))
        extra = root / "treadle_bench_extra.py"
        try:
            extra.write_text("def first(): pass\n" * 50)
            index.refresh()
            extra.write_text("def second(): return first()\n" * 50)
            changed = index.refresh().seconds
        finally:
            extra.unlink()
        branch = switched(root, index, [entry.path for entry in indexed])
        stored = index.status().size_bytes / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    worker = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return (
        f"| {root.name} | {cold.files} | {lines} | {size:.1f} | {cold.items} | {cold.seconds:.1f} "
        f"| {size / cold.seconds:.1f} | {cpu:.1f} | {unchanged * 1000:.0f} | {changed * 1000:.0f} "
        f"| {branch:.1f} | {peak:.0f} + {worker:.0f} | {stored:.0f} | {ctags_seconds(root)} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path)
    arguments = parser.parse_args()
    print(
        "| tree | files | lines | MB | items | cold build s | MB/s | processor s | no change ms "
        "| one file ms | 5 % changed s | peak MB (self + largest worker) | index MB | ctags s |"
    )
    print("|" + "---|" * 14)
    with tempfile.TemporaryDirectory() as folder:
        roots = arguments.paths
        if not roots:
            roots = [Path(folder) / "packages"]
            make_corpus(roots[0], 10_000)
        for place, root in enumerate(roots):
            print(measure(root.resolve(), Path(folder) / f"cache{place}"), flush=True)


if __name__ == "__main__":
    main()
