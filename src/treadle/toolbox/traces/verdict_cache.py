"""Verdicts of models, kept for a while: the same question about the same spans costs nothing."""

import threading
from collections import OrderedDict
from collections.abc import Hashable

from treadle.toolbox.traces.judging import Verdicts

KEPT_SECONDS = 3_600.0
MOST_KEPT = 256


class VerdictCache:
    """The latest verdicts by what was asked; times are those of a clock that is given in."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, tuple[float, Verdicts]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, asked: Hashable, now: float) -> Verdicts | None:
        """The verdicts on it; None when there are none or they are too old."""
        with self._lock:
            kept = self._kept.get(asked)
            if kept is None or now - kept[0] >= KEPT_SECONDS:
                return None
            self._kept.move_to_end(asked)
            return kept[1]

    def put(self, asked: Hashable, verdicts: Verdicts, now: float) -> None:
        """Keep verdicts, and drop what was not asked for the longest."""
        with self._lock:
            self._kept[asked] = (now, verdicts)
            self._kept.move_to_end(asked)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
