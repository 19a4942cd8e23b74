"""The overhead of a gateway: Treadle's, which records each call, next to litellm's, which does not.

One fake provider answers at once. It is called directly and through each gateway alternately, so
that a busy moment affects all of them.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.processes import peak, processor
from bench.traces import environments
from bench.traces.calls import Called
from bench.traces.figures import Figures, say
from bench.traces.servers import Treadle, answers, free_port, started
from bench.traces.wire import share

ROOT = Path(__file__).resolve().parents[2]
DIRECT = "the provider itself"
LITELLM = environments.LITELLM.replace("[proxy]==", " ")
CONNECTIONS = (1, 64)
ROUNDS = 3
MODEL = "bench-model"


@contextmanager
def provider() -> Iterator[tuple[int, int]]:
    """Port and process of the fake provider."""
    with subprocess.Popen(
        [sys.executable, "-m", "bench.traces.fake_provider"],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
    ) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline()), process.pid
        finally:
            process.terminate()


@contextmanager
def treadle(folder: Path, upstream: int) -> Iterator[tuple[int, int]]:
    """Port and process of Treadle's gateway, with a store in `folder`."""
    port = free_port()
    command, environment = Treadle().command(folder, port)
    settings = folder / "config" / "config.toml"
    settings.parent.mkdir()
    settings.write_text(
        f'[providers.bench]\nbase_url = "http://127.0.0.1:{upstream}/v1"\nmodels = ["{MODEL}"]\n'
    )
    with started(command, environment) as process:
        asyncio.run(answers(port, Treadle.health, process))
        yield port, process.pid


@contextmanager
def litellm(folder: Path, upstream: int) -> Iterator[tuple[int, int]]:
    """Port and process of litellm's proxy: one worker, no database, no logging."""
    port, settings = free_port(), folder / "litellm.json"  # JSON is YAML
    route = {"model": f"openai/{MODEL}", "api_key": "none"}
    route["api_base"] = f"http://127.0.0.1:{upstream}/v1"
    settings.write_text(
        json.dumps({"model_list": [{"model_name": MODEL, "litellm_params": route}]})
    )
    program = environments.programs(environments.LITELLM) / "litellm"
    words = [str(program), "--config", str(settings), "--host", "127.0.0.1", "--port", str(port)]
    environment = {
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_MODE": "PRODUCTION",
        "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",  # like Treadle on loopback
    }
    with started([*words, "--telemetry", "False"], environment) as process:
        asyncio.run(answers(port, "/health/liveliness", process))
        yield port, process.pid


def called(port: int, connections: int, seconds: float, *, stream: bool) -> Called:
    """Calls from a separate process."""
    words = [sys.executable, "-m", "bench.traces.calls", str(port), "--model", MODEL]
    words += ["--connections", str(connections), "--seconds", str(seconds)]
    done = subprocess.run(
        [*words, *(["--stream"] if stream else [])],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=True,
        stdout=subprocess.PIPE,
    )
    told: Called = json.loads(done.stdout)
    return told


def measure(*, seconds: float) -> str:
    """The table; each figure comes from three rounds of `seconds`."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        say("gateway: starting")
        servers = {DIRECT: stack.enter_context(provider())}
        upstream, _ = servers[DIRECT]
        servers["Treadle"] = stack.enter_context(treadle(folder, upstream))
        servers[LITELLM] = stack.enter_context(litellm(folder, upstream))
        subjects = [name for name in servers if name != DIRECT]
        figures = Figures([*subjects, DIRECT])
        for stream in (False, True):
            for connections in CONNECTIONS:
                _measured(figures, servers, connections, seconds, stream=stream)
        for name in subjects:
            figures.add("peak MB of memory", name, peak(servers[name][1]))
    return figures.markdown("gateway, a fake provider that answers at once")


def _measured(
    figures: Figures,
    servers: Mapping[str, tuple[int, int]],
    connections: int,
    seconds: float,
    *,
    stream: bool,
) -> None:
    how = f"{'streamed' if stream else 'whole'}, {connections} at once"
    rates: dict[str, list[float]] = {name: [] for name in servers}
    times: dict[str, dict[str, list[float]]] = {name: {"first": [], "last": []} for name in servers}
    busy: dict[str, float] = dict.fromkeys(servers, 0.0)
    for number in range(ROUNDS + 1):
        for name, (port, pid) in servers.items():
            before = processor(pid)
            told = called(port, connections, seconds if number else seconds / 2, stream=stream)
            if number == 0:
                continue  # warms up connections and caches
            busy[name] += processor(pid) - before
            rates[name].append(told["rate"])
            times[name]["first"] += told["first"]
            times[name]["last"] += told["last"]
    for name in servers:
        rate = statistics.median(rates[name])
        say(f"gateway: {name}, {how}: {rate:,.0f} calls/s")
        figures.add(f"{how}: calls/s", name, rate, more_is_better=True)
        calls = len(times[name]["last"])
        figures.add(f"{how}: processor ms a call", name, 1e3 * busy[name] / calls)
        if name == DIRECT:
            continue
        for what in ("first", "last") if stream else ("last",):
            byte = f" to the {what} byte" if stream else ""
            for part in (0.5, 0.99):
                taken, direct = (share(times[of][what], part) for of in (name, DIRECT))
                label = f"{how}: ms added{byte}, p{100 * part:g}"
                figures.add(label, name, 1e3 * (taken - direct))
