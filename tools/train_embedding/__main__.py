"""Trains the embedding that ships with Treadle, from registry packages.

Run: python -m tools.train_embedding [--into FOLDER] [LANGUAGE …]

Missing packages are downloaded and read first (`tools.train_embedding.examples`). The same packages
and the same libraries give the same files.
"""

import argparse
import sys
import time
from pathlib import Path

from tools.train_embedding.bags import collect
from tools.train_embedding.examples import examples
from tools.train_embedding.training import Recipe, train
from tools.train_embedding.writing import write
from treadle.code.dense import own_embedding

TERMS = 38_000
"""Rows of the table: with 384 dimensions each and their names, the files stay below 16 MB."""
UNIT = 32.0
"""For weighted counts; one occurrence in the text of a function is half of it."""


def _tell(line: str) -> None:
    sys.stderr.write(line + "\n")


def main() -> None:
    """Read, train, write; reports how long each took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("languages", nargs="*", metavar="LANGUAGE")
    parser.add_argument("--into", type=Path, default=own_embedding(), metavar="FOLDER")
    arguments = parser.parse_args()
    started = time.monotonic()
    pairs = collect(examples(arguments.languages or None), TERMS, UNIT)
    _tell(f"{len(pairs.documents):,} pairs, read in {time.monotonic() - started:.0f} s")
    started = time.monotonic()
    learnt = train(pairs, Recipe(), _tell)
    _tell(f"trained in {time.monotonic() - started:.0f} s")
    _tell(write(arguments.into, pairs.vocabulary, learnt, UNIT))


if __name__ == "__main__":
    main()
