"""Any OpenAI-compatible embeddings endpoint as an embedder."""

import threading
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING

from treadle.code.dense.embedder import EmbedderError, Endpoint
from treadle.llm.bounded import HEADERS, AnswerRefusedError, bounds
from treadle.secrets import redact

if TYPE_CHECKING:
    import openai

    from treadle.code.dense.embedder import Vectors

_TIMEOUT = 20.0
_SAID = 400
"""Characters of an endpoint's own words in a message."""


class EndpointEmbedder:
    """Sends texts in one request; what it says is checked before it is used."""

    batch = 64
    """One request for all candidates of a query."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._connecting = threading.Lock()
        self._client: openai.OpenAI | None = None

    @property
    def name(self) -> str:
        return f"{self._endpoint.base_url} {self._endpoint.model}"

    def embed(self, texts: Sequence[str]) -> "Vectors":
        import numpy
        import openai

        try:
            answer = self._connected().embeddings.create(
                model=self._endpoint.model, input=list(texts), encoding_format="float"
            )
            ordered = sorted(answer.data, key=lambda entry: entry.index)
            rows = numpy.array([entry.embedding for entry in ordered], numpy.float32)
        except (
            AnswerRefusedError,
            openai.OpenAIError,
            ValueError,
            TypeError,
            AttributeError,
        ) as error:
            said = redact(str(error))[:_SAID]
            raise EmbedderError(f"{self._endpoint.base_url} gave no vectors: {said}") from error
        if rows.ndim != 2 or len(rows) != len(texts) or not numpy.isfinite(rows).all():
            raise EmbedderError(f"{self._endpoint.base_url} did not give a vector for each text")
        lengths = numpy.linalg.norm(rows, axis=1, keepdims=True)
        return (rows / numpy.where(lengths > 0, lengths, 1)).astype(numpy.float32)

    def _connected(self) -> "openai.OpenAI":
        import openai

        with self._connecting:
            if self._client is None:
                self._client = openai.OpenAI(
                    base_url=self._endpoint.base_url,
                    api_key=self._endpoint.key or "none",
                    timeout=_TIMEOUT,
                    max_retries=1,
                    default_headers=HEADERS,
                    http_client=openai.DefaultHttpxClient(
                        timeout=_TIMEOUT, **bounds(asynchronous=False)
                    ),
                )
                weakref.finalize(self, self._client.close)
        return self._client
