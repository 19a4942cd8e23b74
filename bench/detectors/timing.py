"""Processor time of the detectors for one span."""

import time
from dataclasses import replace

from bench.detectors.corpus import cases
from treadle.diagnosis.detectors import detect
from treadle.spans.span import Span

_PROSE = "The service reads the manual of each part and writes down what it has learned from it.\n"
_DATA = '{"id": 7, "name": "Ann", "tags": ["a", "b"], "parent": null, "score": 0.25},'
_FRAME = '  File "/srv/app/worker.py", line 20, in run\n    return self.queue.take(timeout=None)\n'

TEXTS = {
    "2 KB of prose": _PROSE * 24,
    "2 KB of JSON": f"[{_DATA * 25}{{}}]",
    "2 KB, a traceback": "Traceback (most recent call last):\n" + _FRAME * 20 + "KeyError: 'id'",
    "2 KB, each line an error": "Error: disk is full\n" * 100,
    "100 KB of prose": _PROSE * 1_150,
    "1 MB of prose": _PROSE * 11_500,
    "1 MB, each line an error": "Error: disk is full\n" * 50_000,
    "1 MB, one line": "Error " * 170_000,
}


def microseconds(text: str, *, seconds: float = 0.3) -> float:
    """Processor time for a tool's span with that result, the mean over about `seconds`."""
    span = replace(_span(), output=text)
    detect([span])
    begin, number = time.process_time(), 0
    while time.process_time() - begin < seconds:
        detect([span])
        number += 1
    return (time.process_time() - begin) / number * 1e6


def _span() -> Span:
    return next(case.span for case in cases("tuned") if case.name == "own-context-ok")
