"""What the detectors have in common: their names, and what they find before it is quoted."""

from dataclasses import dataclass

from treadle.diagnosis.detectors.finding import Kind, Layer, Severity


def words_of(text: str) -> frozenset[str]:
    """The words of a list that is written as text."""
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class Detector:
    """The name of a detector, and the version of what it looks for."""

    name: str
    version: int
    layer: Layer


@dataclass(frozen=True, slots=True)
class Hit:
    """Something found in a text: characters `start` to `end` of what stands at `path`.

    `end` None is the end of the text.
    """

    detector: Detector
    kind: Kind
    severity: Severity
    confidence: float
    message: str
    path: str
    start: int = 0
    end: int | None = None
    count: int = 1
