"""How long to wait before another attempt.

The loop itself is `client.HttpChatModel.complete`. It is our own, since stamina takes its time
from the process and sleeps by itself: neither an injected clock nor an announced wait fits in.
"""

import random
from dataclasses import dataclass, field

from treadle.llm.faults import ProviderError


@dataclass(frozen=True, slots=True)
class Backoff:
    """Doubles from `first` to at most `limit` seconds, less a random part of up to a half.

    The random part keeps many clients from coming back in step. A wait that the server asked for
    (`Retry-After`, already clamped) wins.
    """

    first: float = 1.0
    limit: float = 30.0
    source: random.Random = field(default_factory=random.Random)

    def delay(self, retry: int, error: ProviderError) -> float:
        """Seconds before retry number `retry`, which counts from 1."""
        if error.retry_after is not None:
            return error.retry_after
        longest = min(self.limit, self.first * 2.0 ** min(retry - 1, 16))
        return longest * (1.0 - self.source.random() / 2)
