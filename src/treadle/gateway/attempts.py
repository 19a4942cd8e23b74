"""Data types that record the attempts, the wait and the outcome of a call while it runs."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from treadle.gateway.budgets import Used
from treadle.gateway.key_spending import KeySpending
from treadle.gateway.request import CallRequest, new_span_id
from treadle.gateway.uploads import SentUpload
from treadle.llm.endpoint import Endpoint

COPY_LIMIT = 64_000_000
"""The maximum number of bytes of an answer that are kept for the trace.

The trace does not contain the rest.
"""


@dataclass(slots=True)
class Attempt:
    """One request to a provider, and the parts of its answer with their times."""

    endpoint: Endpoint
    body: bytes | SentUpload = field(repr=False)
    span_id: str
    start_ns: int = field(default_factory=time.time_ns)
    end_ns: int = 0
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    blocks: list[tuple[int, bytes]] = field(default_factory=list, repr=False)
    size: int = 0
    error: str | None = None
    error_type: str | None = None
    interrupted: bool = False
    """Whether the client left before the end of the answer."""

    def add(self, block: bytes, recorded: bytes | None = None) -> None:
        """Record a part of the answer, unless the answer exceeds `COPY_LIMIT`.

        `recorded` is the part without its media, if it may contain media.
        """
        self.size += len(block)
        kept = block if recorded is None else recorded
        if kept and self.size <= COPY_LIMIT:
            self.blocks.append((time.time_ns(), kept))

    @property
    def is_cut(self) -> bool:
        """Whether a successful answer began but did not end."""
        successful = self.status is not None and self.status < 400
        return successful and bool(self.blocks) and (self.interrupted or self.error is not None)

    def end(self) -> None:
        self.end_ns = time.time_ns()


@dataclass(frozen=True, slots=True)
class Hold:
    """The wait of a call at a breakpoint, and the decision that ended it."""

    breakpoint_id: str
    held_id: str
    start_ns: int
    end_ns: int
    decision: str
    original: str | None
    """The body before a person edited it, or None if nobody edited it."""
    reason: str | None = None


@dataclass(slots=True)
class GatewayCall:
    """A call, from the arrival of its request to the end of its answer."""

    request: CallRequest
    start_ns: int
    first_id: str = field(default_factory=new_span_id)
    """The id of the span that represents the call while it runs.

    The first attempt has the same id, so its span replaces that span. If the call ends without an
    attempt, its step span has this id.
    """
    own_id: str = field(default_factory=new_span_id)
    """The id of the step span of a call with attempts."""
    end_ns: int = 0
    """The end of the call, or 0 while it runs."""
    attempts: list[Attempt] = field(default_factory=list)
    route: str | None = None
    hold: Hold | None = None
    budgets: tuple[str, ...] = ()
    reserved: Mapping[str, Used] = field(default_factory=dict)
    """The tokens and the cost that each budget reserved for the call."""
    spending: KeySpending | None = None
    """Counts the cost for the limits of the API key of the call, if it has such limits."""
    cached: bool = False
    """Whether the answer came from the cache.

    In this case, the answer of the cache is the only attempt.
    """
    refusal: tuple[int, str, str] | None = None
    """The status, code and message, if the gateway itself refused the call."""
    reported_span: str | None = None
    """The id of the span that the client received in a header."""

    @property
    def single(self) -> bool:
        """Whether one span is enough: the call has one attempt, no wait and no refusal."""
        return len(self.attempts) == 1 and self.hold is None and self.refusal is None

    @property
    def step_id(self) -> str:
        """The id of the span for the whole call. A call that is `single` has no such span."""
        return self.own_id if self.attempts else self.first_id

    @property
    def shown_span(self) -> str:
        """The id of the span that represents the call."""
        return self.first_id if self.single else self.step_id

    def new_attempt(self, endpoint: Endpoint, body: bytes | SentUpload) -> Attempt:
        """Add an attempt to the call, and return it."""
        span_id = new_span_id() if self.attempts else self.first_id
        attempt = Attempt(endpoint, body, span_id)
        self.attempts.append(attempt)
        return attempt

    @property
    def size(self) -> int:
        """The approximate size of the call in memory in bytes."""
        bodies = {id(each.body): len(each.body) for each in self.attempts}
        answers = sum(min(each.size, COPY_LIMIT) for each in self.attempts)
        # The request is stored three times: as bytes, as text and as parsed values.
        return 3 * len(self.request.content) + sum(bodies.values()) + answers + 10_000
