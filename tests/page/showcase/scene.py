"""Fills a server with the showcase, through its public interfaces only."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.page.served import Served, serving
from tests.page.showcase import repository
from tests.page.showcase.programs import collect_calls, compare_teasers, holding, write_teasers
from tests.page.showcase.questions import ask_the_analyst
from tests.page.showcase.recording import export
from tests.page.showcase.trips import Trips, trips
from tests.page.showcase.work import work_on_prices

SETTINGS = """
model = "openai/gpt-5.4"
[providers.openai]
base_url = "{base_url}"
models = ["gpt-5.4", "gpt-5.4-mini"]
max_retries = 0
[providers.anthropic]
base_url = "{base_url}"
models = ["claude-haiku-4-5"]
max_retries = 0
[traces]
keep = "30d"
max_size = "2GB"
[traces.redaction.rules.booking-code]
pattern = '\\bPNR [A-Z0-9]{{6}}\\b'
"""
KEYS = {"OPENAI_API_KEY": "a-key-of-the-showcase", "ANTHROPIC_API_KEY": "another-key-of-it"}


@dataclass(frozen=True, slots=True)
class Scene:
    """A server with the work of the assistant and of a program, and the locations of the
    interesting parts.
    """

    served: Served
    trips: Trips
    teaser: str
    """TRACE/SPAN of a call through the gateway."""
    session: str
    proposal: str


@dataclass(frozen=True, slots=True)
class Studied:
    """The same after a person has studied it."""

    experiment: str
    batch: str
    conversation: str
    """The analyst's conversation about a slow booking."""
    held: str


@contextmanager
def showcase(folder: Path) -> Iterator[Scene]:
    """A server with the showcase, until the block ends."""
    with serving(folder, (), settings=SETTINGS, **KEYS) as served:
        (served.repo / "calc.py").unlink()
        repository.write(served.repo)
        session, proposal = work_on_prices(served)
        teaser = write_teasers(served)
        past = trips(time.time())
        answer = served.http.post("/v1/traces", json=export(past.runs))
        assert answer.is_success, answer.text
        assert not answer.json().get("partialSuccess"), answer.text
        _keep_views(served)
        yield Scene(served, past, teaser, session, proposal)


@contextmanager
def studied(scene: Scene) -> Iterator[Studied]:
    """An experiment, questions to the analyst, and a call that is held until the block ends."""
    served = scene.served
    conversation = ask_the_analyst(served, scene.trips)
    collect_calls(served)
    experiment, batch = compare_teasers(served, scene.teaser)
    with holding(served) as held:
        yield Studied(experiment, batch, conversation, held)


def _keep_views(served: Served) -> None:
    for screen, name, query in (
        ("runs", "Failed today", "status:error since:today"),
        ("runs", "Expensive", "cost>0.50"),
        ("threads", "Checkout", "label:checkout"),
    ):
        served.post("/views", {"screen": screen, "name": name, "query": query})
