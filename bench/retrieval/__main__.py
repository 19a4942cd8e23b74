"""How well search answers questions, against simpler methods and other tools, as Markdown tables.

Run: python -m bench.retrieval [--tuning] [--queries N] [--own] [CORPUS …]

Sources come from pinned packages. Their functions lose their doc comments, whose first sentences
are the queries. `--tuning` uses the queries that changes may be tuned on; nothing is ever tuned on
the others.
"""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bench.retrieval.dataset import QUERIES, SEED, Dataset, Query, make_dataset
from bench.retrieval.methods import Functions, Method, treadle_files, treadle_items
from bench.retrieval.packages import CACHE, CORPORA, UnreachableError
from bench.retrieval.peers import SEMBLE, semble
from bench.retrieval.scores import MEASURES, Rank, row
from treadle.code import CodeIndex
from treadle.code.dense import own_embedding
from treadle.code.dense.static_embedding import StaticEmbedding
from treadle.code.parse.file import parse_file

HEAD = f"| method | {' | '.join(MEASURES)} |\n|---|{'---|' * len(MEASURES)}"
SYMBOLS = 300
LEXICAL = "Treadle, lexical + graph"
PRODUCT = "Treadle"


def items_ranks(method: Method, queries: Sequence[Query]) -> list[Rank]:
    """The rank of each query's function."""
    return [
        next((rank for rank, hit in enumerate(found, 1) if hit.holds(query.answer)), None)
        for query in queries
        for found in [method(query.text)]
    ]


def file_ranks(method: Method, queries: Sequence[Query]) -> list[Rank]:
    """The rank of each query's file; several hits in one file count once."""
    ranks: list[Rank] = []
    for query in queries:
        files = list(dict.fromkeys(hit.file for hit in method(query.text)))
        ranks.append(files.index(query.answer.file) + 1 if query.answer.file in files else None)
    return ranks


def symbols(root: Path) -> list[tuple[str, str]]:
    """Names that are unique, or unique with their owner's name, each with its canonical path."""
    paths: list[str] = []
    for path in sorted(root.rglob("*")):
        if path.is_file():
            file = path.relative_to(root).as_posix()
            paths += [
                indexed.item.canonical_path
                for indexed in parse_file(root, file).items
                if indexed.item.kind not in ("chunk", "module")
            ]
    tails = Counter(tail for path in paths for tail in _tails(path))
    unique = [(tail, path) for path in paths for tail in _tails(path) if tails[tail] == 1]
    random.Random(SEED).shuffle(unique)
    return unique[:SYMBOLS]


def _tails(path: str) -> list[str]:
    separator = "::" if "::" in path else "."
    parts = path.split(separator)
    return [parts[-1], separator.join(parts[-2:])] if len(parts) > 1 else parts


def symbol_recall(index: CodeIndex, root: Path) -> str:
    """How often the only item of a name is the first result."""
    asked = symbols(root)
    right = sum(
        bool(found) and found[0].canonical_path == path
        for name, path in asked
        for found in [index.search(name, top_k=1).results]
    )
    return (
        f"Queries that are the name of one item ({len(asked)}): recall@1 {right / len(asked):.3f}"
    )


def report_others(dataset: Dataset, simple: Functions, queries: Sequence[Query]) -> None:
    """Print the rows of simpler methods and other tools."""
    print(row("keyword count, as with ripgrep", items_ranks(simple.keyword_count, queries)))
    print(row("BM25 over words", items_ranks(simple.plain, queries)))
    print(row("BM25 over stems with fields", items_ranks(simple.fielded, queries)), flush=True)
    try:
        peer = semble(dataset.root, [query.text for query in queries])
        print(row(f"semble {SEMBLE}, without its model", items_ranks(peer, queries)), flush=True)
    except UnreachableError as error:
        print(f"left out: {error}", file=sys.stderr)


def report(dataset: Dataset, queries: Sequence[Query], *, with_others: bool) -> None:
    """Print the table of one corpus."""
    print(f"\n#### {dataset.name}: {dataset.functions:,} functions, {len(queries)} queries\n")
    print(HEAD)
    simple = Functions(dataset.root)
    if with_others:
        report_others(dataset, simple, queries)
    alone = simple.alike(StaticEmbedding.load(own_embedding()))
    print(row("own embedding alone", items_ranks(alone, queries)), flush=True)
    cache = CACHE / "index"
    files: list[str] = []
    named = ""
    for label, static in ((LEXICAL, None), (PRODUCT, own_embedding)):
        with CodeIndex.open(dataset.root, cache_dir=cache, static=static, patience=None) as index:
            index.refresh()
            print(row(label, items_ranks(treadle_items(index), queries)), flush=True)
            ranks = file_ranks(treadle_files(index), queries)
            files.append(row(f"which file: {label}", ranks))
            named = named or symbol_recall(index, dataset.root)
    print("\n".join(files))
    print(f"\n{named}.", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", nargs="*", metavar="CORPUS")
    parser.add_argument("--tuning", action="store_true", help="ask the queries of the tuning part")
    parser.add_argument(
        "--queries", type=int, metavar="N", default=QUERIES,
        help="ask the first N; beyond the test they are those that nothing was ever tuned on",
    )  # fmt: skip
    parser.add_argument("--own", action="store_true", help="leave other methods and tools out")
    arguments = parser.parse_args()
    for corpus in CORPORA:
        if arguments.corpora and corpus.name not in arguments.corpora:
            continue
        try:
            dataset = make_dataset(corpus)
        except UnreachableError as error:
            print(f"\n{corpus.name} left out: {error}", file=sys.stderr)
            continue
        queries = dataset.tuning if arguments.tuning else (*dataset.test, *dataset.rest)
        report(dataset, queries[: arguments.queries], with_others=not arguments.own)


if __name__ == "__main__":
    main()
