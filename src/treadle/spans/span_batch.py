"""The spans of one export or of a part of a file, and a report of the omitted data."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

T_co = TypeVar("T_co", covariant=True)
U = TypeVar("U")


class ExportReport(Protocol):
    """The part of a response to an exporter that states what was omitted."""

    @property
    def rejected(self) -> int:
        """The number of omitted records."""
        ...

    def problems(self) -> str:
        """Return the reasons as one text. It is empty if nothing was omitted."""
        ...


@dataclass(frozen=True, slots=True)
class SpanBatch(Generic[T_co]):
    """Spans in their order, and a report of the omitted data.

    `rejected` counts omitted spans, and `reasons` states why the first of them were omitted.
    `damaged` counts fields of accepted spans, such as attributes, that were omitted or changed.
    `warnings` describes the first of these fields.
    """

    spans: tuple[T_co, ...]
    rejected: int = 0
    reasons: tuple[str, ...] = ()
    damaged: int = 0
    warnings: tuple[str, ...] = ()

    def problems(self) -> str:
        """Return the reasons for rejected spans, and the warnings, as one text for a response."""
        reasons = (*self.reasons, *_and_more(self.rejected - len(self.reasons)))
        warnings = (*self.warnings, *_and_more(self.damaged - len(self.warnings)))
        return "; ".join((*reasons, *warnings))

    def with_spans(self, spans: Iterable[U]) -> "SpanBatch[U]":
        """Return a batch with other spans and the same report."""
        return SpanBatch(tuple(spans), self.rejected, self.reasons, self.damaged, self.warnings)


def _and_more(count: int) -> tuple[str, ...]:
    return (f"and {count} more",) if count else ()
