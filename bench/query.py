"""Latency of search and context at 10,000, 50,000 and 500,000 items, as Markdown tables.

Run: python -m bench.query [ITEMS …]   (half a million take some minutes to make and to index)
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from bench.corpus import make_corpus
from treadle.code import CodeIndex, ContextEntry, View
from treadle.code.dense import own_embedding

QUERIES = (
    "How are tool calls matched to their results?",
    "where are retries with backoff scheduled",
    "parse json schema into a model",
    "validate the fields of a dataclass",
    "stream the response of a chat completion",
    "what happens when a type cannot be inferred",
    "close the connection pool",
    "format a traceback for the terminal",
    "BaseModel",
    "AsyncOpenAI.chat",
    "encode unicode text as bytes",
    "read the configuration file and merge it with the defaults",
)
BYTE_CODE = {"PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"}
"""Variables that would make each process compile its modules again."""

PROCESS = (
    "import sys; from pathlib import Path; from treadle.code import CodeIndex;"
    "from treadle.code.dense import own_embedding as static;"
    "index = CodeIndex.open(Path(sys.argv[1]), cache_dir=Path(sys.argv[2]), static=static);"
    "'refresh' in sys.argv and index.refresh();"
    "index.search(sys.argv[3])"
)


def timed(action: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    started = time.perf_counter()
    action()
    return (time.perf_counter() - started) * 1000


def row(label: str, times: list[float]) -> str:
    p95 = statistics.quantiles(times, n=20)[-1]
    return f"| {label} | {statistics.median(times):.1f} | {p95:.1f} |"


def in_process(index: CodeIndex, rounds: int) -> list[str]:
    """Rows of a long-running process."""

    def eight_entries(entries: Sequence[ContextEntry], _omitted: int) -> bool:
        return len(entries) <= 8

    calls: dict[str, Callable[[str], object]] = {
        "search items": index.search,
        "search files": lambda query: index.search(query, view=View.FILES),
        "context": lambda query: index.context(query, top_k=10, fits=eight_entries),
    }
    for query in QUERIES:
        index.search(query)
    return [
        row(label, [timed(partial(call, query)) for query in QUERIES * rounds])
        for label, call in calls.items()
    ]


def whole_process(root: Path, cache: Path, *extra: str) -> list[float]:
    """Milliseconds of a process that imports, opens and searches, minus those of an empty one."""

    environment = {key: value for key, value in os.environ.items() if key not in BYTE_CODE}
    environment["PYTHONPYCACHEPREFIX"] = str(cache / "bytecode")

    def run(*arguments: str) -> float:
        command = [sys.executable, *arguments]
        return timed(partial(subprocess.run, command, check=True, env=environment))

    run("-c", PROCESS, str(root), str(cache), QUERIES[0])  # writes the byte code of the modules
    empty = statistics.median(run("-c", "pass") for _ in range(9))
    return [run("-c", PROCESS, str(root), str(cache), query, *extra) - empty for query in QUERIES]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("items", nargs="*", type=int, default=[10_000, 50_000, 500_000])
    for items in parser.parse_args().items:
        with tempfile.TemporaryDirectory() as folder:
            root, cache = Path(folder) / "packages", Path(folder) / "cache"
            make_corpus(root, items)
            with CodeIndex.open(root, cache_dir=cache, static=own_embedding) as index:
                report = index.refresh()
                size = index.status().size_bytes / 1e6
                print(f"\n{report.items:,} items, {report.files:,} files, {size:.0f} MB of index\n")
                print("| what | p50 ms | p95 ms |\n|---|---|---|")
                print("\n".join(in_process(index, 5)))
            print(row("process: open and search", whole_process(root, cache)))
            print(row("process: refresh and search", whole_process(root, cache, "refresh")))


if __name__ == "__main__":
    main()
