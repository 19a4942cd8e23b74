"""The times and counts of the delivery of calls to workers."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds, except for `max_deliveries`. All servers and workers use the same values."""

    ack_wait: float = 15.0
    """JetStream delivers a call again after this time without a sign of life of the worker."""
    heartbeat: float = 3.0
    """The interval at which a worker reports to JetStream and to the server about a call."""
    max_deliveries: int = 5
    """The number of deliveries after which a call fails."""
    hand_back: float = 1.0
    """If a worker cannot take a call, JetStream delivers the call again after this delay."""
    poll: float = 2.0
    """The interval at which a server reads the state of a call, since messages may be lost."""
    find: float = 1.0
    """The maximum time in which workers answer whether they take a call."""
    offer_kept: float = 1.0
    """The time for which a server trusts the answer of a worker."""
    no_worker: float = 30.0
    """A call that a worker began fails after this time without any worker."""
    away: float = 120.0
    """A waiting call fails after this time without a connection to NATS."""
    caller_lost: float = 60.0
    """A worker cancels a call after this time without an answer of the server."""
    fetch: float = 2.0
    """The maximum time of one request for a call. A worker stops only after its last request."""
    call_kept: float = 7_200.0
    """The time for which JetStream keeps a call. It is longer than every time limit of a tool."""
    outcome_kept: float = 14_400.0
    """The time for which JetStream keeps the state of a call."""
