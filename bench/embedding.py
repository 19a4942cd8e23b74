"""The cost of Treadle's embedding: loading, computing vectors, queries, memory.

Run: python -m bench.embedding [ITEMS] [--model FOLDER]

Times are processor time, on one core unless stated otherwise. Compared figures are measured
alternately.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy

from bench.corpus import make_corpus
from bench.processes import run
from bench.query import QUERIES
from treadle.code import CodeIndex, View
from treadle.code.dense import own_embedding
from treadle.code.dense.static_embedding import LENGTH, StaticEmbedding
from treadle.code.dense.vector_index import VectorIndex, empty_vector_index, read_vector_index
from treadle.code.storage.postings import terms_of_items
from treadle.code.storage.store import Store, store_path

LOAD = (
    "import sys, time, numpy; from pathlib import Path; import treadle.code.terms\n"
    "started = time.process_time()\n"
    "from treadle.code.dense.static_embedding import StaticEmbedding\n"
    "StaticEmbedding.load(Path(sys.argv[1]))\n"
    "print(1000 * (time.process_time() - started))"
)
BUILD = (
    "import sys; from functools import partial; from pathlib import Path\n"
    "from treadle.code import CodeIndex\n"
    "root, cache, *model = map(Path, sys.argv[1:])\n"
    "static = partial(Path, *model) if model else None\n"
    "with CodeIndex.open(root, cache_dir=cache, static=static) as index:\n"
    "    index.refresh()"
)
WORDS = [query for query in QUERIES if " " in query]
ROUNDS = 15
NEAREST = 50


def processor_ms(action: Callable[[], object]) -> float:
    started = time.process_time()
    action()
    return 1000 * (time.process_time() - started)


def load_ms(model: Path) -> float:
    """In a process that has numpy."""
    command = [sys.executable, "-c", LOAD, str(model)]
    loads = [
        float(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(9)
    ]
    return statistics.median(loads)


def items_a_second(store: Store, model: StaticEmbedding) -> float:
    """File by file, as the parser returns them."""
    with store.reading() as connection:
        files = connection.execute("SELECT id, items FROM files WHERE items > 0").fetchall()
        terms = [terms_of_items(connection, *file) for file in files[::3]]
    took = processor_ms(lambda: [model.documents(items) for items in terms])
    return 1000 * sum(map(len, terms)) / took


def recall(held: VectorIndex, model: StaticEmbedding) -> float:
    """The share of the exactly nearest items that the prefilter keeps."""
    shares: list[float] = []
    for query in WORDS:
        vector = model.query(query)
        likeness = numpy.round(held.rows.astype(numpy.float32) @ vector / LENGTH, 6)
        exact = held.items[numpy.argsort(-likeness, kind="stable")[:NEAREST]].tolist()
        shares.append(len(set(exact).intersection(held.nearest(vector, NEAREST))) / NEAREST)
    return statistics.mean(shares)


def beside_words(root: Path, cache: Path, model: Path, view: View) -> tuple[float, float, float]:
    """Median milliseconds of a lexical query, of a full query, and of their difference."""
    with (
        CodeIndex.open(root, cache_dir=cache) as words,
        CodeIndex.open(root, cache_dir=cache, static=lambda: model, patience=None) as both,
    ):
        times: list[tuple[float, float]] = []
        for turn in range(ROUNDS + 1):
            for query in WORDS:
                pair = [
                    processor_ms(partial(index.search, query, view=view)) for index in (words, both)
                ]
                if turn:
                    times.append((pair[0], pair[1]))
    differences = [after - before for before, after in times]
    return (
        statistics.median(before for before, _ in times),
        statistics.median(after for _, after in times),
        statistics.median(differences),
    )


def table(root: Path, folder: Path, model_folder: Path) -> Iterator[str]:
    """The lines, as soon as they are known."""
    model = StaticEmbedding.load(model_folder)
    yield f"| {model.name} | |\n|---|---|"
    size = sum(path.stat().st_size for path in model_folder.iterdir()) / 1e6
    yield f"| files of the model, MB | {size:.1f} |"
    yield f"| load in a process that has numpy, ms | {load_ms(model_folder):.0f} |"
    bare = run([sys.executable, "-c", BUILD, str(root), str(folder / "words")])
    cost = run([sys.executable, "-c", BUILD, str(root), str(folder / "both"), str(model_folder)])
    path = store_path(folder / "both", root)
    larger = path.stat().st_size / store_path(folder / "words", root).stat().st_size
    with CodeIndex.open(root, cache_dir=folder / "both") as index:
        yield f"| items of the index | {index.status().items:,} |"
    yield (
        f"| build with vectors, processor s (without; ratio) | {cost.processor:.1f}"
        f" ({bare.processor:.1f}; {cost.processor / bare.processor:.2f}) |"
    )
    yield f"| size of the index beside one without | {larger:.2f} |"
    store = Store(path)
    yield f"| items a second, one core | {items_a_second(store, model):,.0f} |"
    with store.reading() as connection:
        nothing = empty_vector_index(model.dimension)
        reading = processor_ms(lambda: read_vector_index(connection, model.name, nothing))
        held = read_vector_index(connection, model.name, nothing)
    store.close()
    memory = (held.rows.nbytes + held.signs.nbytes + held.items.nbytes) / 1e6
    yield f"| vectors of the index in memory, MB | {memory:.1f} |"
    yield f"| reading them, ms | {reading:.0f} |"
    vectors = [model.query(query) for query in WORDS]
    nearest = [processor_ms(partial(held.nearest, v, NEAREST)) for v in vectors * ROUNDS]
    yield f"| the {NEAREST} nearest of all, ms | {statistics.median(nearest):.2f} |"
    yield f"| share of the exactly nearest among them | {recall(held, model):.3f} |"
    for view in View:
        words, both, more = beside_words(root, folder / "both", model_folder, view)
        yield (
            f"| query for {view.value}, ms (lexical + graph alone; difference; ratio) |"
            f" {both:.1f} ({words:.1f}; {more:.2f}; {both / words:.2f}) |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("items", nargs="?", type=int, default=50_000)
    parser.add_argument("--model", type=Path, default=own_embedding())
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "packages"
        make_corpus(root, arguments.items)
        for line in table(root, Path(folder), arguments.model.resolve()):
            print(line, flush=True)


if __name__ == "__main__":
    main()
