"""Settings with which stores of a few spans have segments, and queries read them."""

import pytest

from treadle.traces.store import segment_builder, segments, writer_thread
from treadle.traces.store.queries import segment_scan, span_sources


def segment_constantly(patch: pytest.MonkeyPatch) -> None:
    """Write a segment as soon as there are a few spans, and read segments for every query."""
    patch.setattr(segment_builder, "SEGMENT_SPANS", 8)
    patch.setattr(segment_builder, "NEWEST_SPANS", 3)
    patch.setattr(segment_builder, "MAX_CHANGED", 5)
    patch.setattr(segments, "MAX_PROPERTIES", 2)
    patch.setattr(writer_thread, "_SEGMENT_CHECK_SPANS", 1)
    patch.setattr(segment_scan, "FEWEST_SPANS", 0)
    patch.setattr(span_sources, "_WHOLE_ROWS", 1 << 40)
