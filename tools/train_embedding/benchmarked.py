"""The functions that the benchmarks search, which must not be learnt from."""

import json
from functools import cache

from bench.retrieval.packages import CORPORA, Corpus, unpacked
from tools.train_embedding.packages import CACHE
from tools.train_embedding.reading import FORMAT, Record, hashed, read_functions

_KEPT = CACHE / f"benchmarked-{FORMAT}.json"


class Benchmarked:
    """Functions by their bodies, and by their names and first sentences."""

    def __init__(self, keys: set[int]) -> None:
        self.keys = keys

    def add(self, record: Record) -> None:
        self.keys |= self._of(record)

    def holds(self, record: Record) -> bool:
        """Whether a function is one of these, or has the body or the name and sentence of one."""
        return not self.keys.isdisjoint(self._of(record))

    @staticmethod
    def _of(record: Record) -> set[int]:
        said = {hashed(record.name, record.query.lower())} if record.query else set()
        return {record.body, record.same} | said


@cache
def benchmarked() -> Benchmarked:
    """Those of all corpora of the benchmarks, downloaded if missing."""
    if not _KEPT.exists():
        found = Benchmarked(set())
        for corpus in CORPORA:
            _add(corpus, found)
        _KEPT.parent.mkdir(parents=True, exist_ok=True)
        _KEPT.write_text(json.dumps(sorted(found.keys)))
    return Benchmarked(set(json.loads(_KEPT.read_text())))


def _add(corpus: Corpus, found: Benchmarked) -> None:
    for package in corpus.packages:
        folder = unpacked(package)
        for path in sorted(folder.rglob("*")):
            if path.suffix in corpus.suffixes and path.is_file() and not path.is_symlink():
                for record in read_functions(path, path.relative_to(folder).as_posix()):
                    found.add(record)
