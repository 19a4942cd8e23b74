"""What a store says of the faults of spans."""

from dataclasses import dataclass

from treadle.diagnosis.detectors import Finding


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings of all spans that fit a query, as `detect` over these spans gives them.

    `snapshot` is as that of a `Summary`. Of the `spans` that fit, `unexamined` were not
    looked at, since too many were new; asked again, the store goes on with them. `total` is the
    number of findings, of which `data` holds the worst if there was a limit; in order of time.
    """

    snapshot: int
    spans: int
    unexamined: int
    total: int
    data: tuple[Finding, ...]
