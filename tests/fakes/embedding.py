"""Small models in the format of Treadle's embedding, for the terms of a test."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy

DIMENSION = 64


def write_embedding(
    folder: Path,
    terms: Sequence[str],
    *,
    seed: int = 1,
    alike: Mapping[str, str] | None = None,
    dimension: int = DIMENSION,
) -> Path:
    """A model with a random vector for each term; a term of `alike` has the vector of the other
    one.
    """
    chance = numpy.random.default_rng(seed)
    table = chance.integers(-127, 128, (len(terms), dimension), numpy.int8)
    for term, other in (alike or {}).items():
        table[terms.index(term)] = table[terms.index(other)]
    weights = chance.uniform(0.5, 2.0, (2, len(terms))).astype(numpy.float32)
    folder.mkdir(parents=True)
    numpy.save(folder / "table.npy", table)
    numpy.save(folder / "weights.npy", weights)
    (folder / "terms.txt").write_text("".join(f"{term}\n" for term in terms), encoding="utf-8")
    name = f"fake-{hashlib.blake2b(table.tobytes(), digest_size=4).hexdigest()}"
    described = {"name": name, "dimension": dimension, "unit": 16.0, "format": 1}
    (folder / "model.json").write_text(json.dumps(described), encoding="utf-8")
    return folder
