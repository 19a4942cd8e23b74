"""OpenTelemetry's instrumentation of `openai`, which sends messages as log records.

The calls are the same as in `otel`. Only the lines of the page differ.
"""

from typing import Any

from opentelemetry._logs import get_logger_provider

from bench.clients import scenario
from bench.clients.programs.otel import LACKS, PARTS, provider


def finish() -> None:
    provider.force_flush()
    logs: Any = get_logger_provider()
    logs.force_flush()


if __name__ == "__main__":
    packages = ["opentelemetry-instrumentation-openai-v2", "openai"]
    scenario.run(PARTS, packages, LACKS, finish)
