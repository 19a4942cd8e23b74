"""Files of spans that `treadle traces import` reads."""

import io
from dataclasses import replace

from tests.fuzz.spans import check_whole
from tests.fuzz.targets.otlp_json import SEEDS as EXPORTS
from treadle.events.types import Usage
from treadle.spans.otlp import decode_json
from treadle.spans.span import CostSource, Span
from treadle.spans.span_files import SpanFileError, read_span_lines, write_span_lines
from treadle.spans.vocabularies.mapper import map_spans


def _written(*spans: Span) -> bytes:
    stream = io.BytesIO()
    write_span_lines(stream, spans)
    return stream.getvalue()


_SPANS = map_spans(decode_json(EXPORTS[2])).spans
_PRICED = replace(
    _SPANS[0],
    tokens=Usage(input=10, output=2, cached=4),
    cost=0.25,
    cost_source=CostSource.REPORTED,
    labels=("a", "b"),
)

REFUSALS = (SpanFileError,)
SEEDS = (_written(), _written(_PRICED, *_SPANS[1:]), b"\n".join(EXPORTS), b"\n" + EXPORTS[1])
WORDS = tuple(f'"{name}": '.encode() for name in _PRICED.to_json())


def parse(data: bytes) -> None:
    for batch in read_span_lines(io.BytesIO(data), "a file"):
        check_whole(batch.spans)
