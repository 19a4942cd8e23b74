"""Programs that call models through the gateway: teasers, an experiment, a held call."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

import openai
from openai.types.chat import ChatCompletionFunctionToolParam

from tests.fakes.provider import RecordedRequest
from tests.page.served import Served
from tests.page.showcase.following import eventually, wait_until
from tests.page.showcase.replies import chosen, says

BOOK_SEAT: ChatCompletionFunctionToolParam = {
    "type": "function",
    "function": {
        "name": "book_seat",
        "description": "Book a seat on a flight. It is charged at once.",
        "parameters": {
            "type": "object",
            "properties": {"flight": {"type": "string"}, "seat": {"type": "string"}},
            "required": ["flight", "seat"],
        },
    },
}
TEASER = "You write teasers for Voyage, a travel company."
_CITIES = ("Porto in October", "Ghent at Christmas", "Trieste by train")


def write_teasers(served: Served) -> str:
    """Calls of a program with OpenAI's own client; returns the location of the last one."""
    place = ""
    for city in _CITIES:
        served.provider.add(
            says(
                f"{city}: a weekend that begins when you step off the train. Wander old lanes and "
                "bright markets, taste what the season brings, and stay up late by the water. "
                "Everything you need is within a short walk, and every corner has a story that "
                "somebody is glad to tell you.",
                tokens=(61, 64),
                took=1.1,
            )
        )
        with _client(served, f"teaser-{city.split()[0].lower()}", "eval") as client:
            answer = client.chat.completions.with_raw_response.create(
                stream=True,
                model="openai/gpt-5.4",
                messages=[
                    {"role": "system", "content": TEASER},
                    {"role": "user", "content": f"A teaser for a weekend: {city}."},
                ],
                temperature=0.9,
            )
            for _ in answer.parse():
                pass
        place = f"{answer.headers['x-trace-id']}/{answer.headers['x-span-id']}"
    return place


def _client(served: Served, thread: str, label: str) -> openai.OpenAI:
    headers = {"x-thread-id": thread, "x-label": label}
    return openai.OpenAI(
        base_url=f"{served.address}/v1", api_key="any", max_retries=0, default_headers=headers
    )


SHORT = f"{TEASER} Two short sentences, no adjectives that any town could have."
_REPEATS = 6


class _Runs(NamedTuple):
    """The answer of a variant, the tokens of its request, and the tokens and seconds of each
    run.
    """

    text: str
    asked: int
    answered: tuple[int, ...]
    seconds: tuple[float, ...]


_RUNS = {
    "original": _Runs(
        "Trieste by train: a weekend that begins on the platform. Wander old lanes, taste what the "
        "season brings and stay up late by the sea; every corner of this charming city has a story "
        "that somebody is glad to tell you.",
        61,
        (64, 71, 58, 66, 79, 62),
        (0.52, 0.61, 0.44, 0.55, 0.72, 0.49),
    ),
    "v1": _Runs(
        "The train drops you at the harbour. Have a coffee where Joyce had his, and take the tram "
        "up to Opicina before the light goes.",
        79,
        (33, 31, 36, 34, 30, 38),
        (0.31, 0.27, 0.36, 0.30, 0.58, 0.34),
    ),
    "v2": _Runs(
        "From the station it is ten minutes to the sea. Drink a capo in b in Piazza Unità and walk "
        "the Napoleonica before dusk.",
        76,
        (30, 34, 29, 31, 33, 30),
        (0.19, 0.24, 0.17, 0.21, 0.22, 0.18),
    ),
}


def compare_teasers(served: Served, recorded: str) -> tuple[str, str]:
    """An experiment with two changes, each run six times, like the original."""
    made = eventually(served, "/experiments", {"spans": [recorded], "name": "Shorter teasers"})
    here = f"/experiments/{made['id']}"
    changes = (
        ({"system": SHORT, "parameters": {"max_tokens": 120}}, "two short sentences"),
        ({"model": "anthropic/claude-haiku-4-5"}, "the same, by a small model"),
    )
    for data, note in changes:
        answer = served.http.patch(f"/api/v1{here}", json={"data": data, "note": note})
        assert answer.is_success, answer.text
    begun_runs = dict.fromkeys(_RUNS, 0)

    def teaser(request: RecordedRequest) -> tuple[str, tuple[int, int], float]:
        small = request.body["model"] == "claude-haiku-4-5"
        long = request.messages[0]["content"] == TEASER
        variant = "v2" if small else "original" if long else "v1"
        runs, number = _RUNS[variant], begun_runs[variant]
        begun_runs[variant] += 1
        return runs.text, (runs.asked, runs.answered[number]), runs.seconds[number]

    served.provider.add(*[chosen(teaser)] * (_REPEATS * len(_RUNS)))
    wanted = {"repeats": _REPEATS, "variants": list(_RUNS), "at_once": 3}
    begun = served.post(f"{here}/batches", wanted)
    wait_until(lambda: served.get(f"{here}/batches/{begun['id']}")["state"] == "finished")
    return str(made["id"]), str(begun["id"])


def collect_calls(served: Served) -> None:
    """Experiments without runs: one call, and a data set."""
    served.post(
        "/experiments",
        {"query": "run:refund-kx4t2p kind:model", "limit": 1, "name": "Say that a refund failed"},
    )
    served.post(
        "/experiments",
        {"query": "kind:model label:eval -model:gpt-5.4", "limit": 20, "name": "Reviews in a line"},
    )


@contextmanager
def holding(served: Served) -> Iterator[str]:
    """A call that a breakpoint holds until the block ends."""
    served.post("/breakpoints", {"model": "*opus*", "timeout": 900, "on_expiry": "refuse"})
    served.post("/breakpoints", {"labels": ["checkout"], "timeout": 900})

    def call() -> None:
        with (
            suppress(openai.PermissionDeniedError),
            _client(served, "trip-oslo", "checkout") as own,
        ):
            own.chat.completions.create(
                model="openai/gpt-5.4-mini",
                messages=[
                    {"role": "system", "content": "You confirm bookings for Voyage. Be exact."},
                    {"role": "user", "content": "Book the 07:25 to Oslo for me, seat 4A."},
                ],
                tools=[BOOK_SEAT],
                temperature=0.2,
            )

    calling = threading.Thread(target=call)
    calling.start()
    wait_until(lambda: bool(served.get("/breakpoints/held", state="waiting")["data"]))
    (held,) = served.get("/breakpoints/held", state="waiting")["data"]
    try:
        yield str(held["id"])
    finally:
        served.post(f"/breakpoints/held/{held['id']}/refuse", {"reason": "The showcase is over."})
        calling.join()
