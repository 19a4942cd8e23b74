"""The times and counts of the delivery of calls to workers."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds, except for `max_deliveries`. Servers and workers of one project use the same."""

    ack_wait: float = 15.0
    """The time without a sign of life of the worker, after which JetStream delivers a call again.
    """
    heartbeat: float = 3.0
    """The interval at which a worker reports to JetStream and to the server about a call."""
    max_deliveries: int = 5
    """The number of deliveries after which a call fails."""
    hand_back: float = 1.0
    """The delay before JetStream delivers a call again that a worker could not take."""
    poll: float = 2.0
    """The interval at which a server reads the state of a call. It replaces lost messages."""
    find: float = 1.0
    """The time that workers have to answer whether they take a call."""
    offer_kept: float = 1.0
    """The time for which a server trusts the answer of a worker."""
    no_worker: float = 30.0
    """The time without a worker after which a call that a worker began fails."""
    away: float = 120.0
    """The time without a connection to NATS after which a waiting call fails."""
    caller_lost: float = 60.0
    """The time without an answer of the server after which a worker cancels its call."""
    fetch: float = 2.0
    """The maximum time of one request for a call. A worker that stops waits for its end."""
    call_kept: float = 7_200.0
    """The time for which JetStream keeps a call. It is longer than every time limit of a tool."""
    outcome_kept: float = 14_400.0
    """The time for which JetStream keeps the state of a call."""
