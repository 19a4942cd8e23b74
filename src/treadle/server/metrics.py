"""The measures of the server in the text format of Prometheus.

Clients cannot create an unlimited number of labels. The label of a route is its template. Models
and tools above a maximum number share the label `other` (`measures.Names`).
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from treadle import __version__
from treadle.errors import TreadleError
from treadle.events.types import ErrorKind
from treadle.measures import Histogram, Labels
from treadle.nats.names import ProjectNames
from treadle.server.current_project import ProjectServices
from treadle.server.measures import ServerMeasures

if TYPE_CHECKING:
    from prometheus_client import Metric
    from prometheus_client.registry import Collector

    from treadle.nats.connection import NatsConnection

_BUS_SECONDS = 1.0
"""The maximum time in seconds to read the state of NATS."""

Gauges = dict[str, tuple[str, float]]
"""The help text and the value of each gauge by name."""


class MissingLibraryError(TreadleError):
    """The library that writes metrics is not installed."""


class Exposition(NamedTuple):
    """The metrics as bytes, and their content type."""

    content: bytes
    content_type: str


def exposition(measures: ServerMeasures, gauges: Gauges, accept: str | None = None) -> Exposition:
    """Return all metrics in a format that the Accept header of the request allows.

    Raises MissingLibraryError.
    """
    try:
        from prometheus_client import CollectorRegistry, ProcessCollector
        from prometheus_client.exposition import choose_encoder
    except ImportError as error:
        raise MissingLibraryError(
            "The metrics need the package prometheus-client, which is not installed.",
            hint="Run pip install 'treadle[team]'.",
        ) from error
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(_collector(lambda: _families(measures, gauges)))
    encode, content_type = choose_encoder(accept or "")
    return Exposition(encode(registry), content_type)


def _collector(collect: Callable[[], Iterator["Metric"]]) -> "Collector":
    from prometheus_client.registry import Collector

    class Measures(Collector):
        def collect(self) -> Iterable["Metric"]:
            return collect()

    return Measures()


async def gauges_of(
    projects: Iterable[ProjectServices], bus: "NatsConnection | None", *, draining: bool
) -> Gauges:
    """Return the current values of the server. Each value is a total over all open projects."""
    opened = tuple(projects)
    turns = sum(len(each.server.turns.running()) for each in opened)
    streams = sum(each.server.log.followers for each in opened)
    questions = sum(len(each.server.app.approvals.pending()) for each in opened)
    received = sum(each.server.pending_bytes for each in opened)
    gauges: Gauges = {
        "treadle_turns_running": ("Turns that run or wait.", turns),
        "treadle_event_streams_open": ("Event streams and WebSockets of clients.", streams),
        "treadle_approvals_waiting": ("Questions that wait for a person.", questions),
        "treadle_projects_open": ("Projects whose stores are open.", len(opened)),
        "treadle_ingest_waiting_bytes": ("Bytes of exports in memory.", received),
        "treadle_draining": ("1 if the server is ending.", draining),
    }
    with suppress(TreadleError):  # omitted if a store does not work, which /readyz reports
        size = await asyncio.to_thread(_store_bytes, opened)
        gauges["treadle_traces_bytes"] = ("Size of the stores of spans on disk.", size)
    return gauges | (await _bus_gauges(opened, bus) if bus is not None else {})


def _store_bytes(projects: Iterable[ProjectServices]) -> int:
    return sum(each.server.traces.size() for each in projects)


async def _bus_gauges(projects: tuple[ProjectServices, ...], bus: "NatsConnection") -> Gauges:
    """Return the gauges about NATS. Those of the queues are missing while NATS does not answer."""
    from nats.errors import Error
    from nats.js.errors import NotFoundError

    others = [each.server.others.names for each in projects if each.server.others is not None]
    gauges: Gauges = {
        "treadle_bus_connected": ("1 if NATS can be reached.", bus.is_connected),
        "treadle_other_servers": (
            "Other servers that use the same stores.",
            len(set().union(*others)),
        ),
    }
    exports = failed = calls = 0
    try:
        async with asyncio.timeout(_BUS_SECONDS):
            for each in projects:
                stream = ProjectNames(each.name).stream("calls")
                with suppress(NotFoundError):  # no call went to a worker yet
                    calls += (await bus.jetstream.stream_info(stream)).state.messages
                if each.server.exports is not None:
                    state = await each.server.exports.state()
                    exports, failed = exports + state.waiting, failed + state.failed
    except (Error, TimeoutError):
        return gauges
    return gauges | {
        "treadle_worker_calls_waiting": ("Tool calls at workers, waiting or running.", calls),
        "treadle_stream_exports_waiting": (
            "Exports in JetStream that are not in a store yet.",
            exports,
        ),
        "treadle_stream_exports_failed": ("Exports that could not be stored.", failed),
    }


def _families(measures: ServerMeasures, gauges: Gauges) -> Iterator["Metric"]:
    from prometheus_client.core import GaugeMetricFamily

    version = GaugeMetricFamily("treadle_build_info", "The version.", labels=["version"])
    version.add_metric([__version__], 1)
    yield version
    ingest = measures.ingest
    current = gauges | {
        "treadle_ingest_waiting_requests": (
            "Exports without a response.",
            ingest.waiting_requests,
        ),
        "treadle_ingest_waiting_spans": (
            "Decoded spans that are not stored yet.",
            ingest.waiting_spans,
        ),
        "treadle_ingest_oldest_seconds": (
            "Age of the oldest export without a response.",
            ingest.oldest_seconds(),
        ),
    }
    if (completed_us := measures.retention.completed_us) is not None:
        last = "Unix time of the last complete run of retention on this server."
        current["treadle_retention_completed_seconds"] = (last, completed_us / 1e6)
    for name, (text, value) in current.items():
        yield GaugeMetricFamily(name, text, value=value)
    yield from _counters(measures)
    yield from _histograms(measures)


def _counters(measures: ServerMeasures) -> Iterator["Metric"]:
    from prometheus_client.core import CounterMetricFamily

    ingest, gateway, retention = measures.ingest, measures.gateway, measures.retention
    once: Labels = ()
    model = ("provider", "model")
    counters: tuple[tuple[str, str, Labels, Iterable[tuple[Labels, float]]], ...] = (
        (
            "treadle_ingest_requests",
            "Exports by outcome.",
            ("outcome",),
            ingest.requests.items(),
        ),
        ("treadle_ingest_spans", "Stored spans.", once, [(once, ingest.spans)]),
        ("treadle_ingest_bytes", "Received bytes.", once, [(once, ingest.bytes)]),
        ("treadle_retention_spans", "Deleted old spans.", once, [(once, retention.spans)]),
        ("treadle_retention_failures", "Failed runs.", once, [(once, retention.failures)]),
        (
            "treadle_gateway_calls",
            "Attempts of gateway calls.",
            (*model, "status"),
            gateway.calls.items(),
        ),
        (
            "treadle_gateway_tokens",
            "Tokens of gateway calls.",
            (*model, "direction"),
            gateway.tokens.items(),
        ),
        (
            "treadle_gateway_dollars",
            "Cost of gateway calls in US dollars.",
            model,
            gateway.dollars.items(),
        ),
    )
    for name, text, labels, amounts in counters:
        family = CounterMetricFamily(name, text, labels=labels)
        for values, amount in amounts:
            family.add_metric(values, amount)
        yield family


def _histograms(measures: ServerMeasures) -> Iterator["Metric"]:
    from prometheus_client.core import HistogramMetricFamily

    histograms: tuple[tuple[str, str, Labels, Iterable[tuple[Labels, Histogram]]], ...] = (
        (
            "treadle_ingest_commit_seconds",
            "Time from the decoding of spans to their commit.",
            (),
            [((), measures.ingest.commits)],
        ),
        (
            "treadle_http_request_seconds",
            "Time of an HTTP request until the end of its response.",
            ("method", "route", "status"),
            measures.requests.items(),
        ),
        (
            "treadle_gateway_first_token_seconds",
            "Time to the first token of a gateway call.",
            ("provider", "model"),
            measures.gateway.first_token.items(),
        ),
        (
            "treadle_tool_call_seconds",
            f"Time of a tool call. The outcome is completed or a kind such as {ErrorKind.TIMEOUT}.",
            ("tool", "outcome"),
            measures.tool_calls.items(),
        ),
    )
    for name, text, labels, values in histograms:
        family = HistogramMetricFamily(name, text, labels=labels)
        for combination, histogram in values:
            family.add_metric(combination, histogram.cumulated(), histogram.sum)
        yield family
