import json
from pathlib import Path

import pytest

from tests.engines import NatsServer
from tests.server.exports import export, span
from tests.server.replicas.running import replicas
from treadle.server import experiment_feed, live_spans
from treadle.ui import feed


async def test_change_by_one_server_wakes_the_feeds_of_the_others(
    repo: Path, nats: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (experiment_feed, live_spans, feed):
        monkeypatch.setattr(module, "POLL_SECONDS", 3600.0)
    async with (
        replicas(2, repo, nats.url) as (one, two),
        one.page() as near,
        two.page() as far,
    ):
        changed = await one.http.patch("/api/v1/ui", json={"location": "/threads"})
        assert changed.is_success
        sent = await one.http.post(
            "/v1/traces",
            content=json.dumps(export(span(1, text="Hello"))),
            headers={"Content-Type": "application/json"},
        )
        assert sent.is_success
        await one.post("/experiments", {"spans": [f"{1:032x}/{1:016x}"]})
        for page in (near, far):
            missing = {"UiChanged", "SpanEnded", "ExperimentChanged"}
            while missing:
                missing.discard((await page.next())["type"])
