"""Properties of every span that a parser creates."""

import json
from collections.abc import Sequence

from treadle.spans.span import Span
from treadle.spans.span_files import span_from_json


def check_whole(spans: Sequence[Span]) -> None:
    """Require that spans survive an export and import unchanged."""
    for span in spans:
        # Compared as JSON, in which two halves of a surrogate pair equal the pair.
        written = json.dumps(span.to_json())
        assert json.dumps(span_from_json(json.loads(written)).to_json()) == written
