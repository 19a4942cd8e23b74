"""Runs inside semble's own environment: its answers to queries, without its model.

The model is not part of its package and would be downloaded from a hub. This measures its lexical
half with its own ranking. JSON comes in as {"root", "queries"} and goes out as a list of [file,
first line, last line] for each query.
"""

import json
import sys
from typing import Any


class NoModel:
    """Replaces the model: every text is the same to it, and it has no weight."""

    dim = 2

    def encode(self, texts: list[str], **_options: object) -> Any:
        import numpy

        return numpy.ones((len(texts), self.dim), numpy.float32)


def main() -> None:
    import semble.index.index as implementation  # type: ignore[import-not-found]  # semble's own

    implementation.load_model = lambda *_: (NoModel(), "none")
    asked = json.load(sys.stdin)
    index = implementation.SembleIndex.from_path(asked["root"])
    answers = [
        [
            [hit.chunk.file_path, hit.chunk.start_line, hit.chunk.end_line]
            for hit in index.search(query, top_k=10, alpha=0.0)
        ]
        for query in asked["queries"]
    ]
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
