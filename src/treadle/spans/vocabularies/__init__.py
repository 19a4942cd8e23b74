"""Foreign spans into ours: what each vocabulary of attributes says, as the same derived columns."""

from treadle.spans.vocabularies.mapper import to_span
from treadle.spans.vocabularies.raw_span import RawSpan, RawStatus

__all__ = ["RawSpan", "RawStatus", "to_span"]
