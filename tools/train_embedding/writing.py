"""The files of a trained embedding, as `treadle.code.dense.static_embedding` reads them."""

import hashlib
import json
from pathlib import Path

import numpy as np

from tools.train_embedding.training import Parameters
from treadle.code.dense.static_embedding import FORMAT

_MOST = 127


def write(folder: Path, vocabulary: tuple[str, ...], learnt: Parameters, unit: float) -> str:
    """Write the four files, each row of vectors as 8-bit integers; returns the name.

    The scale of a row becomes part of its two weights. The name ends in a digest of everything
    else, so that other values have another name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    scales = np.abs(learnt.vectors).max(axis=1) / np.float32(_MOST)
    scales[scales == 0] = 1
    table = np.rint(learnt.vectors / scales[:, None]).astype(np.int8)
    weights = np.stack([learnt.in_query * scales, learnt.in_item * scales]).astype(np.float32)
    terms = "\n".join(vocabulary) + "\n"
    np.save(folder / "table.npy", table)
    np.save(folder / "weights.npy", weights)
    (folder / "terms.txt").write_text(terms, encoding="utf-8")
    digest = hashlib.blake2b(digest_size=4)
    for part in (table.tobytes(), weights.tobytes(), terms.encode(), str(unit).encode()):
        digest.update(part)
    name = f"treadle-code-1-{digest.hexdigest()}"
    described = {"name": name, "format": FORMAT, "dimension": table.shape[1], "unit": unit}
    (folder / "model.json").write_text(json.dumps(described, indent=2) + "\n")
    return name
