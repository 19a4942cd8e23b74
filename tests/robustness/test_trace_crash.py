"""Repeated `kill -9` of the server under load, on one store: acknowledged spans are kept.

Exporters send traces whole, in parts, twice, and some spans first without their end. A span counts
as acknowledged when its request was answered with 200. After each kill only the file is read, by
plain SQL: nothing acknowledged is missing, nothing is duplicated, and all totals equal a recount of
the spans. Calls through the gateway are recorded in order: only the last ones before a kill may be
missing. The next life of the server marks the calls that the kill interrupted.
"""

import asyncio
import json
import random
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from bench.traces.gateway import MODEL, provider
from bench.traces.generator import Generator, SentSpan
from bench.traces.otlp_bytes import export_request
from bench.traces.wire import Connection, request
from tests.cli.command import start

EXPORTERS = 3
PROTOBUF = {"content-type": "application/x-protobuf"}
_JSON = {"content-type": "application/json"}

_HOUR = "(start_us / 3600000000 * 3600000000)"
_RECOUNTED = """
    count(*), sum(kind = 'model' AND counted), sum(kind = 'tool'), sum(status = 'error'),
    sum(status = 'unfinished'),
    sum(iif(counted, coalesce(input_tokens, 0), 0)),
    sum(iif(counted, coalesce(output_tokens, 0), 0)),
    sum(iif(counted, coalesce(cached_tokens, 0), 0)),
    sum(iif(counted, coalesce(cost_nano, 0), 0)),
    count(duration_us), coalesce(sum(duration_us), 0)"""
_KEPT = """
    spans, model_calls, tool_calls, errors, unfinished, input_tokens, output_tokens,
    cached_tokens, cost_nano, timed, busy_us"""
_SUMS = {
    "traces": ("SELECT id, {} FROM traces", "SELECT trace, {} FROM spans GROUP BY 1"),
    "runs": (
        "SELECT run_id, {} FROM runs",
        "SELECT run_id, {} FROM spans JOIN placed USING (trace) GROUP BY 1",
    ),
    "threads": (
        "SELECT thread_id, {} FROM threads",
        "SELECT thread_id, {} FROM spans JOIN placed USING (trace) GROUP BY 1",
    ),
    "hours": (
        "SELECT hour_us, {} FROM rollups WHERE dimension = 'all'",
        f"SELECT {_HOUR}, {{}} FROM spans GROUP BY 1",
    ),
    "models": (
        "SELECT hour_us || value, {} FROM rollups WHERE dimension = 'model'",
        f"SELECT {_HOUR} || coalesce(model, ''), {{}} FROM spans GROUP BY 1",
    ),
    "operations": (
        "SELECT hour_us || value, {} FROM rollups WHERE dimension = 'operation'",
        f"SELECT {_HOUR} || operation, {{}} FROM spans GROUP BY 1",
    ),
    "labels": (
        "SELECT hour_us || value, {} FROM rollups WHERE dimension = 'label'",
        f"SELECT {_HOUR} || label, {{}} FROM spans JOIN span_labels ON span = id GROUP BY 1",
    ),
}
"""The stored totals, and a recount from the spans."""

_PLACED = """
    CREATE TEMP VIEW placed AS
    SELECT traces.id AS trace, run_id, thread_id FROM traces JOIN runs USING (run_id)"""

Key = tuple[str, str]


@dataclass(slots=True)
class Kept:
    """What the server acknowledged, over all its lives."""

    spans: set[Key] = field(default_factory=set)
    finished: set[Key] = field(default_factory=set)
    calls: list[list[str]] = field(default_factory=list)
    """The traces of the calls of each life, in order."""
    answers: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, spans: Sequence[SentSpan]) -> None:
        keys = [(span.trace_id.hex(), span.span_id.hex()) for span in spans]
        self.spans.update(keys)
        self.finished.update(key for key, span in zip(keys, spans, strict=True) if span.end_ns)
        self.answers += 1
        self.changed.set()

    async def until(self, answers: int, calls: int) -> None:
        """Wait until there are that many answers, and that many calls in this life."""
        while self.answers < answers or len(self.calls[-1]) < calls:
            self.changed.clear()
            await self.changed.wait()


async def export(port: int, seed: int, kept: Kept) -> None:
    """Send traces in every manner until the server is gone."""
    draw, generator = random.Random(seed), Generator(seed, text_bytes=400)
    connection = await Connection.open(port)
    try:
        for number in range(1_000):
            thread = f"thread-{draw.randrange(6)}"
            trace = generator.trace(draw.randrange(2, 60), thread=thread)
            for spans in manner(trace, number):
                body = export_request(spans)
                answer = await connection.send(request("POST", "/v1/traces", body, PROTOBUF))
                if answer.status == 200 and answer.size == 0:  # no partial success
                    kept.add(spans)
    except ConnectionError:
        return


async def call(port: int, kept: Kept) -> None:
    """Call the model through the gateway, streamed and not, until the server is gone."""
    connection, calls = await Connection.open(port), kept.calls[-1]
    asked: dict[str, object] = {
        "model": MODEL,
        "messages": [{"role": "user", "content": "Where is my parcel?"}],
    }
    try:
        while True:
            asked["stream"] = len(calls) % 2 == 1
            data = json.dumps(asked).encode()
            answer = await connection.send(request("POST", "/v1/chat/completions", data, _JSON))
            assert answer.status == 200, answer.text()
            _, _, rest = answer.head.partition(b"x-trace-id: ")
            calls.append(rest.partition(b"\r\n")[0].decode())
            kept.changed.set()
    except ConnectionError:
        return


def manner(trace: list[SentSpan], number: int) -> Iterator[Sequence[SentSpan]]:
    """The batches in which a trace is sent."""
    half = len(trace) // 2
    if number % 4 == 0:
        yield [replace(span, end_ns=0) for span in trace[:half]]
    if number % 4 == 1:
        yield trace[half:]
        yield trace[:half]
    else:
        yield trace
    if number % 4 == 2:
        yield trace


async def killed_life(repo: Path, home: Path, seed: int, kept: Kept) -> None:
    """One life of the server, under load until it is killed."""
    process = await start("serve", "--port", "0", "--json", home=home, repo=repo)
    assert process.stdout is not None
    line = await asyncio.wait_for(process.stdout.readline(), 60)
    port = int(json.loads(line)["address"].rpartition(":")[2])
    kept.calls.append([])
    enough = kept.answers + random.Random(seed).randrange(4, 25)
    loads = [
        asyncio.create_task(export(port, seed * EXPORTERS + number, kept))
        for number in range(EXPORTERS)
    ]
    loads.append(asyncio.create_task(call(port, kept)))
    await asyncio.wait_for(kept.until(enough, calls=5), 60)
    process.kill()
    await asyncio.gather(*loads)
    await process.communicate()


def check(path: Path, kept: Kept) -> None:
    """Compare the file with the server's acknowledgements."""
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        file.execute("INSERT INTO texts (texts) VALUES ('integrity-check')")
        rows = file.execute(
            "SELECT trace_id, span_id, end_us FROM spans JOIN traces ON traces.id = spans.trace"
        ).fetchall()
        stored = {(trace, span): end for trace, span, end in rows}
        assert len(stored) == len(rows), "a span is there twice"
        assert kept.spans <= stored.keys(), "an acknowledged span is missing"
        assert all(stored[key] for key in kept.finished), "a span lost its end"
        traces = {trace for trace, _ in stored}
        for calls in kept.calls:
            recorded = [trace in traces for trace in calls]
            assert recorded == sorted(recorded, reverse=True), "a call is missing between others"
        for table in ("contents", "texts"):
            without = f"SELECT count(*) FROM spans WHERE id NOT IN (SELECT rowid FROM {table})"
            assert file.execute(without).fetchone() == (0,), table
            (count,) = file.execute(f"SELECT count(*) FROM {table}").fetchone()
            assert count == len(rows), table
        file.execute(_PLACED)
        for what, (sums, recount) in _SUMS.items():
            there = set(file.execute(sums.format(_KEPT)))
            assert there == set(file.execute(recount.format(_RECOUNTED))), what


@pytest.mark.parametrize(
    "kills", [3, pytest.param(20, marks=[pytest.mark.slow, pytest.mark.timeout(900)])]
)
async def test_acknowledged_spans_survive_kill_9(tmp_path: Path, kills: int) -> None:
    repo, home, kept = tmp_path / "repo", tmp_path / "home", Kept()
    repo.mkdir()
    settings = home / "config" / "config.toml"
    settings.parent.mkdir(parents=True)
    with provider() as (upstream, _):
        address = f"http://127.0.0.1:{upstream}/v1"
        settings.write_text(f'[providers.bench]\nbase_url = "{address}"\nmodels = ["{MODEL}"]\n')
        for life in range(kills):
            await killed_life(repo, home, life, kept)
            check(home / "data" / "traces.db", kept)
    assert kept.answers >= 4 * kills
    assert len(kept.finished) > 100
