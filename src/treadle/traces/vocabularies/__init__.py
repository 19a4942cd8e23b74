"""Foreign spans into ours: what each vocabulary of attributes says, as the same derived columns."""

from treadle.traces.vocabularies.mapping import to_span
from treadle.traces.vocabularies.raw import RawSpan, RawStatus

__all__ = ["RawSpan", "RawStatus", "to_span"]
