"""How long reading an OTLP export takes: `python -m bench.traces.decode`.

Processor time for each span of 2 KB, from the bytes of the request to our span with its prices.
"""

import time
from collections.abc import Callable

from bench.traces.generator import Generator, SentSpan
from bench.traces.otlp_bytes import export_request
from treadle.spans.otlp import decode_protobuf
from treadle.spans.span import Span
from treadle.spans.span_batch import SpanBatch
from treadle.spans.vocabularies.mapper import map_spans

ROUNDS = 15


def microseconds(read: Callable[[bytes], SpanBatch[Span]], body: bytes) -> float:
    """The best of some rounds, for each span."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        number = len(read(body).spans)
        best = min(best, (time.process_time() - start) / number)
    return best * 1e6


def main() -> None:
    spans = [span for trace in Generator(1).traces(40) for span in trace]
    kinds: dict[str, list[SentSpan]] = {"all": spans}
    for span in spans:
        kinds.setdefault(str(span.attributes["openinference.span.kind"]).lower(), []).append(span)
    for kind, chosen in kinds.items():
        figure = microseconds(lambda body: map_spans(decode_protobuf(body)), export_request(chosen))
        print(f"{kind:10} {len(chosen):5} spans  {figure:6.1f} µs a span")


if __name__ == "__main__":
    main()
