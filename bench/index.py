"""Time and memory of building and refreshing the code index, as a Markdown table.

Run: python -m bench.index [PATH …]   (without a path: installed packages, about 10,000 items)
"""

import argparse
import resource
import tempfile
import time
from pathlib import Path

from bench.corpus import make_corpus
from treadle.code import CodeIndex
from treadle.code.files import walk


def measure(root: Path, cache: Path) -> str:
    """One row of the table; the tree gets a file that is removed again."""
    size = sum(entry.size for entry in walk(root)) / 1e6
    with CodeIndex.open(root, cache_dir=cache) as index:
        cold = index.refresh()
        index.refresh()
        unchanged = min(index.refresh().seconds for _ in range(5))
        extra = root / "treadle_bench_extra.py"
        try:
            extra.write_text("def first(): pass\n" * 50)
            time.sleep(0.06)
            index.refresh()
            extra.write_text("def second(): return first()\n" * 50)
            changed = index.refresh().seconds
        finally:
            extra.unlink()
        stored = index.status().size_bytes / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    worker = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return (
        f"| {root.name} | {cold.files} | {size:.1f} | {cold.items} | {cold.seconds:.1f} "
        f"| {size / cold.seconds:.1f} | {unchanged * 1000:.0f} | {changed * 1000:.0f} "
        f"| {peak:.0f} + {worker:.0f} | {stored:.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path)
    arguments = parser.parse_args()
    print(
        "| tree | files | MB | items | cold build s | MB/s | no change ms | one file ms "
        "| peak MB (self + largest worker) | index MB |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        roots = arguments.paths
        if not roots:
            roots = [Path(folder) / "packages"]
            make_corpus(roots[0], 10_000)
        for place, root in enumerate(roots):
            print(measure(root.resolve(), Path(folder) / f"cache{place}"))


if __name__ == "__main__":
    main()
