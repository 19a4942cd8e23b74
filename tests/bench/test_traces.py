"""The benchmark of traces sends what it claims, keeps its promises and reports figures
correctly.
"""

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest

from bench.traces import load
from bench.traces.calls import call
from bench.traces.figures import Figures, written
from bench.traces.fill import CHUNK, chunk
from bench.traces.gateway import MODEL, provider
from bench.traces.generator import MODELS, Generator
from bench.traces.load import read_batches, write_batches
from bench.traces.otlp_bytes import batches, export_request
from bench.traces.wire import Connection, request, share
from treadle.spans.otlp import decode_protobuf
from treadle.spans.span import SpanKind, SpanStatus
from treadle.spans.vocabularies.mapper import map_spans


def test_the_same_seed_gives_the_same_traces() -> None:
    one, other = (list(Generator(3).traces(4)) for _ in range(2))
    assert one == other
    assert one != list(Generator(4).traces(4))


def test_a_trace_is_one_tree_with_texts_of_the_requested_size() -> None:
    spans = Generator(1).trace(1_000)
    ids = {span.span_id for span in spans}
    assert len(ids) == len(spans) == 1_000
    assert [span.parent_id in ids for span in spans] == [True] * 999 + [False]
    texts = [
        len(f"{span.attributes['input.value']}{span.attributes['output.value']}") for span in spans
    ]
    assert 2_000 < sum(texts) / len(texts) < 2_300
    assert len({span.attributes["input.value"] for span in spans}) == 1_000


def test_a_chain_has_the_requested_depth() -> None:
    spans = Generator(1).chain(50)
    assert all(below.parent_id == above.span_id for above, below in pairwise(spans))
    assert all(below.end_ns < above.end_ns for above, below in pairwise(spans))


def test_sent_spans_equal_the_generated_ones() -> None:
    sent = [span for trace in Generator(5).traces(10) for span in trace]
    decoded = map_spans(decode_protobuf(export_request(sent)))
    assert (len(decoded.spans), decoded.rejected) == (500, 0)
    for span, read in zip(sent, decoded.spans, strict=True):
        assert (read.trace_id, read.span_id) == (span.trace_id.hex(), span.span_id.hex())
        assert (read.start_ns, read.end_ns) == (span.start_ns, span.end_ns)
        assert (read.parent_id or "") == span.parent_id.hex()
        assert (read.status is SpanStatus.ERROR) == (span.error is not None)
        assert read.attributes.keys() == span.attributes.keys()
    models = {span.model for span in decoded.spans if span.kind is SpanKind.MODEL}
    assert models <= MODELS.keys()
    assert len(models) >= 4


def test_batches_keep_all_spans_and_their_file_gives_them_back(tmp_path: Path) -> None:
    made = list(batches(Generator(1, text_bytes=200).traces(5, spans=30), 40))
    assert [batch.spans for batch in made] == [40, 40, 40, 30]
    write_batches(tmp_path / "batches", made)
    assert list(read_batches(tmp_path / "batches")) == made


def test_a_chunk_of_a_store_follows_the_one_before() -> None:
    first, second = (chunk(number) for number in (0, 1))
    assert sum(batch.spans for batch in first) == CHUNK
    last, next_one = (
        map_spans(decode_protobuf(first[-1].body)),
        map_spans(decode_protobuf(second[0].body)),
    )
    assert max(span.start_us for span in last.spans) < next_one.spans[0].start_us
    threads = [{span.thread_id for span in read.spans} - {None} for read in (last, next_one)]
    assert threads[0].isdisjoint(threads[1])


async def test_a_busy_server_gets_the_same_batch_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(load, "PAUSE", 0)
    bodies, ended = list[bytes](), asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for status in (b"200 OK", b"503 Busy", b"200 OK", b"200 OK"):
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            bodies.append(await reader.readexactly(length))
            writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n")
        await reader.read()
        writer.close()
        await writer.wait_closed()
        ended.set()

    made = list(batches([Generator(1, text_bytes=100).trace(10)], 2))
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    told = await load.send_all(port, iter(made), {}, connections=1, most=6)
    await ended.wait()
    server.close()
    assert bodies == [made[0].body, made[1].body, made[1].body, made[2].body]
    assert (told["spans"], told["retries"]) == (6, 1)


@pytest.mark.parametrize("stream", [False, True])
async def test_the_fake_provider_answers_as_a_provider_does(*, stream: bool) -> None:
    with provider() as (port, _):
        told = await call(port, connections=2, seconds=0.05, stream=stream, model=MODEL)
        connection = await Connection.open(port)
        body = b'{"stream": true}' if stream else b"{}"
        answer = await connection.send(request("POST", "/v1/chat/completions", body))
        connection.close()
    assert told["rate"] > 0
    assert all(0 < first <= last for first, last in zip(told["first"], told["last"], strict=True))
    if not stream:
        assert answer.json()["choices"][0]["message"]["content"].startswith("word word")
        return
    events = answer.text().split("\n\n")
    assert events[-2:] == ["data: [DONE]", ""]
    assert sum('"choices": [{' in event for event in events) == 20


def test_ratios_state_how_many_times_better_treadle_is() -> None:
    figures = Figures(["ours", "theirs"])
    figures.add("spans/s", "ours", 4_000, more_is_better=True)
    figures.add("spans/s", "theirs", 500, more_is_better=True)
    figures.add("ms", "ours", 20)
    figures.add("ms", "theirs", 10)
    figures.add("MB", "theirs", 7.123)
    figures.say("MB", "ours", "fails")
    assert figures.markdown("what").splitlines()[2:] == [
        "| spans/s | 4,000 | 500 (8 times) |",
        "| ms | 20.0 | 10.0 (0.5 times) |",
        "| MB | fails | 7.12 |",
    ]
    assert written(1_234.5) == "1,234"


def test_a_quantile_is_one_of_the_values() -> None:
    values = [float(value) for value in range(100, 0, -1)]
    assert (share(values, 0.5), share(values, 0.99), share([7.0], 0.99)) == (51.0, 100.0, 7.0)
