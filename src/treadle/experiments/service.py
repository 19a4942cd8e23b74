"""Experiments as everybody uses them: made, changed, run, compared, judged, exported."""

from treadle.clock import Clock, SystemClock
from treadle.experiments.calling import Caller
from treadle.ids import IdSource, new_id
from treadle.traces.store.protocol import SpanReader


class Experiments:
    """The experiments of a user. Methods that are not async block: call them in a thread."""

    def __init__(
        self,
        traces: SpanReader,
        caller: Caller,
        *,
        clock: Clock | None = None,
        ids: IdSource = new_id,
    ) -> None:
        self._traces = traces
        self._caller = caller
        self._clock = clock or SystemClock()
        self._ids = ids
