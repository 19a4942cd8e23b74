"""The compared servers: how each is started, fed, counted and queried.

All of them keep spans in SQLite and accept OTLP/HTTP at the same path. The queries are those that
the page of each server sends for the same view, over its HTTP API.
"""

import asyncio
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from bench.processes import peak, processor
from bench.traces import environments
from bench.traces.figures import say
from bench.traces.wire import Answer, Connection, request

START_SECONDS = 180.0
_JSON = {"content-type": "application/json", "accept-encoding": "gzip"}
_SINCE, _UNTIL = "2026-09-01T00:00:00Z", "2027-03-01T00:00:00Z"
_SINCE_MS, _UNTIL_MS = 1_788_220_800_000, 1_803_859_200_000


@dataclass(frozen=True, slots=True)
class Running:
    """A running server. `folder` contains only its store."""

    port: int
    pid: int
    folder: Path

    @property
    def peak_mb(self) -> float:
        return peak(self.pid)

    @property
    def processor(self) -> float:
        return processor(self.pid)

    @property
    def disk_mb(self) -> float:
        return sum(file.stat().st_size for file in self.folder.rglob("*") if file.is_file()) / 1e6


class Server(ABC):
    """A compared program. Requests are for `wire.Connection.send`; None: no such query."""

    name: str
    database: str
    """The file within the folder."""
    headers: Mapping[str, str] = {}
    """Headers that an exporter must send with its spans."""
    health = "/health"

    @abstractmethod
    def command(self, folder: Path, port: int) -> tuple[list[str], dict[str, str]]:
        """The command that starts it, and additions to its environment."""

    def count(self, folder: Path) -> int:
        """The spans that another process finds in the store."""
        with closing(sqlite3.connect(f"file:{folder / self.database}?mode=ro", uri=True)) as file:
            (count,) = file.execute("SELECT count(*) FROM spans").fetchone()
        return int(count)

    @abstractmethod
    def opened(self, trace_id: str) -> bytes:
        """The data from which the page draws a trace. `trace_id` is in hex."""

    def opened_next(self, trace_id: str, answer: Any) -> bytes | None:  # noqa: ARG002
        """The request for the rest after an answer to `opened`; None if nothing is missing."""
        return None

    @abstractmethod
    def listed(self) -> bytes:
        """The newest page of fifty."""

    @abstractmethod
    def filtered(self) -> bytes | None:
        """The newest failed calls of one model."""

    @abstractmethod
    def found(self, word: str) -> bytes:
        """The newest fifty that have the word in their input or output."""

    @abstractmethod
    def by_model(self) -> bytes:
        """Sums for each model."""

    @abstractmethod
    def by_hour(self) -> bytes:
        """Sums for each hour."""

    @abstractmethod
    def spans_in(self, answer: Any) -> int:
        """The number of spans of the trace in the answer to `opened`."""

    @abstractmethod
    def hits_in(self, answer: Any) -> int:
        """The number of results in the answer to `found`."""


class Phoenix(Server):
    name = environments.PHOENIX.replace("==", " ")
    database = "phoenix.db"
    health = "/healthz"

    def command(self, folder: Path, port: int) -> tuple[list[str], dict[str, str]]:
        program = environments.programs(environments.PHOENIX) / "phoenix"
        return [str(program), "serve"], {
            "PHOENIX_WORKING_DIR": str(folder),
            "PHOENIX_HOST": "127.0.0.1",
            "PHOENIX_PORT": str(port),
            "PHOENIX_GRPC_PORT": str(free_port()),
            "PHOENIX_TELEMETRY_ENABLED": "false",
            "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false",
        }

    def opened(self, trace_id: str, after: str = "null") -> bytes:
        columns = (
            "spanId parentId name spanKind statusCode startTime endTime latencyMs tokenCountTotal"
        )
        which = f"first: 1000, after: {after}"  # the most that one request may ask for
        spans = (
            f"spans({which}) {{ pageInfo {{ hasNextPage endCursor }}"
            f" edges {{ node {{ {columns} }} }} }}"
        )
        return self._graphql(f'getTraceByOtelId(traceId: "{trace_id}") {{ {spans} }}')

    def opened_next(self, trace_id: str, answer: Any) -> bytes | None:
        page = answer["data"]["getTraceByOtelId"]["spans"]["pageInfo"]
        return self.opened(trace_id, json.dumps(page["endCursor"])) if page["hasNextPage"] else None

    def listed(self) -> bytes:
        return self._spans("")

    def filtered(self) -> bytes:
        return self._spans("llm.model_name == 'gpt-4o' and status_code == 'ERROR'")

    def found(self, word: str) -> bytes:
        return self._spans(f"'{word}' in input.value or '{word}' in output.value")

    def by_model(self) -> bytes:
        when = f'timeRange: {{start: "{_SINCE}", end: "{_UNTIL}"}}'
        cost = f'costSummary(projectId: "UHJvamVjdDox", {when}) {{ total {{ tokens cost }} }}'
        return self._project(f"topModelsByTokenCount({when}) {{ name {cost} }}")

    def by_hour(self) -> bytes:
        when = f'timeRange: {{start: "{_SINCE}", end: "{_UNTIL}"}}, timeBinConfig: {{scale: HOUR}}'
        return self._project(f"spanCountTimeSeries({when}) {{ data {{ timestamp totalCount }} }}")

    def spans_in(self, answer: Any) -> int:
        return len(answer["data"]["getTraceByOtelId"]["spans"]["edges"])

    def hits_in(self, answer: Any) -> int:
        return len(answer["data"]["getProjectByName"]["spans"]["edges"])

    def _spans(self, condition: str) -> bytes:
        columns = "spanId name spanKind statusCode startTime endTime latencyMs tokenCountTotal"
        texts = "input { truncatedValue } output { truncatedValue }"
        which = f'first: 50, sort: {{col: startTime, dir: desc}}, filterCondition: "{condition}"'
        return self._project(f"spans({which}) {{ edges {{ node {{ {columns} {texts} }} }} }}")

    def _project(self, query: str) -> bytes:
        return self._graphql(f'getProjectByName(name: "default") {{ {query} }}')

    def _graphql(self, query: str) -> bytes:
        body = json.dumps({"query": f"{{ {query} }}"}).encode()
        return request("POST", "/graphql", body, _JSON)


class Mlflow(Server):
    name = environments.MLFLOW.replace("==", " ")
    database = "mlflow.db"
    headers = {"x-mlflow-experiment-id": "0"}  # noqa: RUF012  (never changed)

    _API = "/api/3.0/mlflow/traces"
    _WHERE = [{"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": "0"}}]  # noqa: RUF012

    def command(self, folder: Path, port: int) -> tuple[list[str], dict[str, str]]:
        program = environments.programs(environments.MLFLOW) / "mlflow"
        words = [str(program), "server", "--backend-store-uri", f"sqlite:///{folder}/mlflow.db"]
        words += ["--default-artifact-root", str(folder / "artifacts"), "--host", "127.0.0.1"]
        # One worker: SQLite has one writer, so more would only wait for each other.
        return [*words, "--port", str(port), "--workers", "1"], {"MLFLOW_DISABLE_TELEMETRY": "true"}

    def opened(self, trace_id: str) -> bytes:
        return request("GET", f"{self._API}/get?trace_id=tr-{trace_id}", headers=_JSON)

    def listed(self) -> bytes:
        return self._search(None)

    def filtered(self) -> None:
        return None

    def found(self, word: str) -> bytes:
        return self._search(f"trace.text LIKE '%{word}%'")

    def by_model(self) -> bytes:
        return self._metrics({"dimensions": ["span_model_name"]})

    def by_hour(self) -> bytes:
        return self._metrics({"time_interval_seconds": 3600})

    def spans_in(self, answer: Any) -> int:
        return len(answer["trace"]["spans"])

    def hits_in(self, answer: Any) -> int:
        return len(answer.get("traces", []))

    def _search(self, condition: str | None) -> bytes:
        asked: dict[str, object] = {"locations": self._WHERE, "max_results": 50}
        if condition is not None:
            asked["filter"] = condition
        return request("POST", f"{self._API}/search", json.dumps(asked).encode(), _JSON)

    def _metrics(self, grouping: Mapping[str, object]) -> bytes:
        asked = {
            "experiment_ids": ["0"],
            "view_type": "SPANS",
            "metric_name": "span_count",
            "aggregations": [{"aggregation_type": "COUNT"}],
            "start_time_ms": _SINCE_MS,
            "end_time_ms": _UNTIL_MS,
        }
        body = json.dumps(asked | dict(grouping)).encode()
        return request("POST", f"{self._API}/metrics", body, _JSON)


class Treadle(Server):
    name = "Treadle"
    database = "data/traces.db"
    health = "/api/v1/health"

    def command(self, folder: Path, port: int) -> tuple[list[str], dict[str, str]]:
        repository = folder / "repository"
        repository.mkdir(exist_ok=True)
        (repository / ".git").mkdir(exist_ok=True)
        words = [str(Path(sys.executable).with_name("treadle")), "serve", "--port", str(port)]
        return [*words, "--repo", str(repository)], {"TREADLE_HOME": str(folder)}

    def opened(self, trace_id: str) -> bytes:
        return self._get(f"traces/{trace_id}")

    def listed(self) -> bytes:
        return self._get("spans", limit=50)

    def filtered(self) -> bytes:
        return self._get("spans", model="gpt-4o", status="error", limit=50)

    def found(self, word: str) -> bytes:
        return self._get("search", q=word, limit=50)

    def by_model(self) -> bytes:
        return self._get("groups", group_by="model")

    def by_hour(self) -> bytes:
        return self._get("groups", group_by="time", bucket_size=3600, limit=1_000)

    def spans_in(self, answer: Any) -> int:
        return len(answer["columns"]["starts"])

    def hits_in(self, answer: Any) -> int:
        return len(answer["data"])

    def _get(self, path: str, **parameters: object) -> bytes:
        asked = f"?{urlencode(parameters)}" if parameters else ""
        return request("GET", f"/api/v1/{path}{asked}", headers=_JSON)


SERVERS: Mapping[str, type[Server]] = {
    "treadle": Treadle, "phoenix": Phoenix, "mlflow": Mlflow,
}  # fmt: skip


def free_port() -> int:
    """A free loopback port."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        return int(listening.getsockname()[1])


@contextmanager
def running(server: Server, folder: Path) -> Iterator[Running]:
    """Start a server on the store in `folder`, and end it and its processes afterwards."""
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    command, environment = server.command(folder, port)
    with started(command, environment) as process:
        asyncio.run(answers(port, server.health, process))
        yield Running(port, process.pid, folder)


@contextmanager
def started(
    command: Sequence[str], environment: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program in a group of its own, and end it and its processes afterwards.

    Its output is shown if something goes wrong.
    """
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(
            command,
            env=os.environ | dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        ) as process,
    ):
        try:
            yield process
        except BaseException:
            log.seek(max(0, os.fstat(log.fileno()).st_size - 4_000))
            say(log.read().decode(errors="replace"))
            raise
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # processes that it started and left


async def answers(port: int, path: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until a server answers. Raises RuntimeError when it ended or takes too long."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            connection = await Connection.open(port)
            answer = await asyncio.wait_for(connection.send(request("GET", path)), 30)
        except (OSError, TimeoutError):
            await asyncio.sleep(0.1)
            continue
        connection.close()
        if answer.status < 500:
            return
        await asyncio.sleep(0.1)
    raise RuntimeError(f"no answer at port {port} from process {process.pid}")


async def ask(connection: Connection, data: bytes, seconds: float) -> Answer:
    """One answer. Raises TimeoutError, and RuntimeError if it is not a success."""
    answer = await asyncio.wait_for(connection.send(data), seconds)
    if answer.status != 200:
        raise RuntimeError(f"{answer.status}: {answer.text()[:500]}")
    return answer


class Opened(NamedTuple):
    """A trace as a page received it: number of spans, seconds, bytes."""

    spans: int
    seconds: float
    size: int


async def open_trace(server: Server, port: int, trace_id: str, seconds: float) -> Opened:
    """Load all data from which a page draws a trace. Raises like `ask`."""
    connection = await Connection.open(port)
    asked: bytes | None = server.opened(trace_id)
    spans, taken, size = 0, 0.0, 0
    while asked is not None:
        answer = await ask(connection, asked, seconds)
        taken, size = taken + answer.last, size + answer.size
        told = answer.json()
        spans += server.spans_in(told)
        asked = server.opened_next(trace_id, told)
    connection.close()
    return Opened(spans, taken, size)
