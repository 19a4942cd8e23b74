"""Functions of many packages without their doc comments, and the sentences of the comments.

Run: python -m tools.train_embedding.examples [LANGUAGE …]

Downloads the packages of `packages.tsv`, reads new ones with two processes, and reports how many
functions there are. `.cache/train_embedding` has one compact file for each package.
"""

import argparse
import gzip
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from bench.retrieval.packages import UnreachableError
from tools.train_embedding.benchmarked import Benchmarked, benchmarked
from tools.train_embedding.packages import CACHE, LicenceError, Source, fetched, sources
from tools.train_embedding.reading import FORMAT, Record, hashed, read_package


@dataclass(frozen=True, slots=True)
class Example:
    """A function without its doc comment, and the comment's sentences.

    `query` is the comment's first sentence and `more` the text after it; both are empty if there is
    none. `terms` are the weighted terms that an index keeps of the function.
    """

    language: str
    package: str
    file: str
    name: str
    query: str
    more: str
    terms: dict[str, int]
    name_terms: tuple[str, ...]
    lines: int


def examples(languages: Iterable[str] | None = None, make: bool = True) -> Iterator[Example]:
    """The functions of all listed packages, or of those listed under `languages`.

    In the same order every time. Functions that the benchmarks search are left out, and so are
    functions whose terms, or whose name and sentence, equal those of an earlier one. Without
    `make`, packages that were not read yet are left out.
    """
    listed = made(sources(languages), processes=2 if make else 0)
    records = ((source.name, record) for source, path in listed for record in read(path))
    return distinct(records, benchmarked())


def distinct(records: Iterable[tuple[str, Record]], known: Benchmarked) -> Iterator[Example]:
    """The functions, each with its package, that are not `known` and have not occurred before."""
    seen: set[int] = set()
    for package, record in records:
        keys = {record.same}
        if record.query:
            keys.add(hashed(record.name, record.query.lower()))
        if seen.isdisjoint(keys) and not known.holds(record):
            seen |= keys
            yield Example(
                record.language, package, record.file, record.name, record.query, record.more,
                record.terms, tuple(record.name_terms), record.lines,
            )  # fmt: skip


def made(listed: Sequence[Source], processes: int = 2) -> Iterator[tuple[Source, Path]]:
    """Each package with the file of its functions, created if missing; none with no file."""
    missing = [source for source in listed if not _path(source).exists()]
    if missing and processes:
        with ProcessPoolExecutor(processes) as pool:
            for source, told in zip(missing, pool.map(_make, missing), strict=True):
                sys.stderr.write(f"{source.language} {source.name} {source.version}: {told}\n")
    for source in listed:
        if _path(source).exists():
            yield source, _path(source)


def _path(source: Source) -> Path:
    stem = f"{source.client}-{source.name}-{source.version}".replace("/", "+")
    return CACHE / f"functions-{FORMAT}" / f"{stem}.jsonl.gz"


def _make(source: Source) -> str:
    """Write the file of one package; returns a line that describes the result."""
    started = time.process_time()
    try:
        folder = fetched(source)
    except (UnreachableError, LicenceError) as error:
        return f"left out: {error}"
    records, size = read_package(source, folder)
    write(_path(source), records)
    taken = time.process_time() - started
    documented = sum(bool(record.query) for record in records)
    return (
        f"{len(records):,} functions, {documented:,} documented, "
        f"{size / 1e6:.1f} MB in {taken:.1f} s"
    )


def write(path: Path, records: Sequence[Record]) -> None:
    """Write records as lines of JSON, always the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}")
    with gzip.GzipFile(partial, "wb", compresslevel=5, mtime=0) as file:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode())
            file.write(b"\n")
    partial.rename(path)


def read(path: Path) -> Iterator[Record]:
    """The records of a file that `write` wrote."""
    with gzip.open(path, "rb") as file:
        for line in file:
            yield Record(*json.loads(line))


def main() -> None:
    """Create missing files and print a table of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("languages", nargs="*", metavar="LANGUAGE")
    arguments = parser.parse_args()
    functions: Counter[str] = Counter()
    documented: Counter[str] = Counter()
    for example in examples(arguments.languages or None):
        functions[example.language] += 1
        documented[example.language] += bool(example.query)
    for language, count in functions.most_common():
        sys.stdout.write(f"{language}: {count:,} functions, {documented[language]:,} documented\n")


if __name__ == "__main__":
    main()
