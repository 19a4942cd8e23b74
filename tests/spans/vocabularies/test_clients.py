"""Recorded exports of real clients (bench/clients) have the true figures in the store.

`python -m bench.clients --record` writes a recording with the lines of the client's page that the
program ran.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from bench.clients.__main__ import names, setup_lines
from bench.clients.truth import CONTEXT_QUERIES, ComparedPart, Part, compare
from treadle.spans.ingest import ingest
from treadle.spans.otlp import decode_json, decode_log_json
from treadle.spans.vocabularies.mapper import map_spans
from treadle.traces import TraceStore
from treadle.traces.query.language import parse_query

FOLDER = Path(__file__).parent / "clients"
PAGES = Path(__file__).parents[3] / "docs" / "clients"

CLIENTS = [name for name in names() if (FOLDER / f"{name}.json").exists()]


@cache
def recording(client: str) -> dict[str, Any]:
    return dict(json.loads((FOLDER / f"{client}.json").read_text(encoding="utf-8")))


def compared(client: str, folder: Path) -> list[ComparedPart]:
    recorded = recording(client)
    store = TraceStore.open(folder / "traces.db")
    try:
        body = json.dumps(recorded["request"]).encode()
        if "logs" in recorded:
            logs = json.dumps(recorded["logs"]).encode()
            assert ingest(logs, decode_log_json, store)[0].rejected == 0
        batch, stored = ingest(body, decode_json, store)
        assert batch.rejected == 0
        assert stored is not None
        stored.result()
        found = {name: _found(store, query) for name, query in CONTEXT_QUERIES.items()}
        rows = []
        for listed in store.spans(limit=1_000).data:
            span = store.span(listed.trace_id, listed.span_id)
            assert span is not None
            whole = span.to_json()
            found_by = [name for name, ids in found.items() if listed.span_id in ids]
            row = {**listed._asdict(), "tokens": whole["tokens"], "found_by": found_by}
            rows.append({**whole, **row})
    finally:
        store.close()
    parts = [Part(**part) for part in recorded["parts"]]
    return list(compare(rows, parts, recorded["lacks"]))


def _found(store: TraceStore, query: str) -> set[str]:
    return {row.span_id for row in store.spans(parse_query(query, now_us=0), limit=1_000).data}


@pytest.mark.parametrize("client", CLIENTS)
def test_every_figure_of_the_client_is_exact(client: str, tmp_path: Path) -> None:
    parts = compared(client, tmp_path)
    differences = [each for part in parts for each in part.differences if each.excuse is None]
    assert sum(part.figures for part in parts) > 30
    assert differences == []


@pytest.mark.parametrize("client", CLIENTS)
def test_all_attributes_that_the_client_sent_are_kept(client: str) -> None:
    request = recording(client)["request"]
    sent = {
        span["spanId"]: {each["key"] for each in span.get("attributes", ())}
        for resource in request["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    }
    spans = map_spans(decode_json(json.dumps(request).encode())).spans
    assert {span.span_id: set(span.attributes) for span in spans} == sent


@pytest.mark.parametrize("client", CLIENTS)
def test_the_lines_on_the_page_are_the_lines_that_the_client_ran(client: str) -> None:
    assert recording(client)["setup"] == setup_lines(client)


def test_every_page_belongs_to_a_client() -> None:
    assert {page.stem for page in PAGES.glob("*.md")} <= set(names())
