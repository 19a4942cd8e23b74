"""Events about experiments, whichever process changed them. Their file is the truth."""

from dataclasses import dataclass
from typing import ClassVar

from treadle.events.types import Delivery, Event


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentChanged(Event):
    """An experiment is new, changed or gone, or one of its batches, which is then named.

    `done` of the `total` runs of the batch are over; both are None where no batch is named.
    """

    delivery: ClassVar[Delivery] = Delivery.LOSSY

    experiment_id: str
    batch_id: str | None = None
    done: int | None = None
    total: int | None = None
