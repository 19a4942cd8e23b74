"""Traces like those of real programs, from a seed: agents, chats with tools, retrievals, failures.

Spans use OpenInference, the vocabulary that all compared servers understand. Each has about
`text_bytes` of unique prose, code or JSON in its input and output together.
"""

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate

AttributeValue = str | int | tuple[str, ...]

SECOND = 1_000_000_000
HOUR = 3_600 * SECOND
BEGIN_NS = 1_791_000_000 * SECOND
"""When the first trace starts: a moment in October 2026."""

MODELS: Mapping[str, tuple[str, float]] = {
    "gpt-4o-mini": ("openai", 0.40),
    "gpt-4o": ("openai", 0.25),
    "claude-sonnet-4-5": ("anthropic", 0.15),
    "gemini-2.5-flash": ("google", 0.10),
    "llama-3.3-70b-instruct": ("groq", 0.07),
    "our-own-model": ("local", 0.03),
}
"""Provider and share of the calls. The last has no price."""

LABELS = ("production", "staging", "search", "support", "nightly", "experiment-a", "experiment-b")
TOOLS = ("search_orders", "read_file", "run_query", "send_mail", "fetch_page", "update_ticket")
FAILURES = (
    "TimeoutError: no answer after 30 s", "order not found", "HTTP 429: rate limit reached",
    "JSONDecodeError: Expecting value: line 1 column 1 (char 0)", "permission denied",
)  # fmt: skip
NEEDLE_SHARE = 0.0005
NEEDLE = "zirconium"
"""A word in the text of this share of the spans: searches look for it."""

_WORDS = """
account action address agent amount answer archive argument array assistant attempt audit balance
batch branch bridge broker budget buffer bundle button cache calendar call cancel carrier cart
catalog category channel charge check chunk city claim class client clock cluster code column
command comment commit company config contact content context contract copy count country coupon
create cursor customer cycle data database date decimal default delete delivery demand deploy depth
detail device digest direct discount document domain draft driver edge editor element email engine
entry error event example exchange export factor failure feature field file filter finish folder
format forward frame function future gateway graph group handle hash header history holder host
image import index inline input insert instance invoice issue item job join journal key label
language layer ledger length level library limit line link list loader local lock login lookup
machine mail manager mapping market match measure member memory merge message method metric minute
mode model module monitor month name network node notice number object offer offset option order
origin output owner package page parcel parent parse partner path pattern payment pending period
phone place plan point policy pool port position prefix preview price process product profile
project prompt property provider query queue quota range rate reader reason receipt record reference
refund region register release remote render repeat report request reserve resource result retry
return review role route rule sample schedule schema scope score script search second section
segment select sender sequence server service session setting shape share shipment signal size slot
snapshot source span stage start state status step stock storage store stream string subject summary
supplier support switch symbol table target task tax team template tenant text thread ticket time
title token tool topic total trace track transfer tree trigger type unit update upload user value
variable vendor version view volume warehouse warning week weight window word worker workflow write
year zone
""".split()  # noqa: SIM905  (as a list it would fill pages)
_GLUE = (
    "the",
    "a",
    "of",
    "to",
    "in",
    "for",
    "with",
    "on",
    "is",
    "was",
    "and",
    "that",
    "from",
    "by",
)


@dataclass(frozen=True, slots=True)
class SentSpan:
    """A finished span as an exporter has it. Ids are bytes, `parent_id` is empty for a root."""

    trace_id: bytes
    span_id: bytes
    parent_id: bytes
    name: str
    start_ns: int
    end_ns: int
    attributes: dict[str, AttributeValue]
    error: str | None = None


@dataclass(slots=True)
class Generator:
    """The same seed gives the same traces."""

    seed: int
    text_bytes: int = 2_048
    first_thread: int = 0
    """The number of the first thread of `traces`; each thread has four traces."""
    users: int = 0
    """The number of users. If it is not 0, each root states a user and metadata."""
    _random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def traces(
        self, count: int, *, spans: int = 50, begin_ns: int = BEGIN_NS, gap_ns: int = 10 * SECOND
    ) -> Iterator[list[SentSpan]]:
        """That many traces of that many spans; each starts `gap_ns` after the one before."""
        for number in range(count):
            yield self.trace(spans, begin_ns + number * gap_ns, thread=self._thread(number))

    def trace(
        self, spans: int, start_ns: int = BEGIN_NS, thread: str = "thread-0"
    ) -> list[SentSpan]:
        """An agent that calls a model and tools alternately; every ninth step is an agent again."""
        draw = self._random
        trace_id = draw.randbytes(16)
        root, now = draw.randbytes(8), start_ns
        agents, sent = [root], list[SentSpan]()
        labels = tuple(sorted(draw.sample(LABELS, draw.randrange(4))))
        while len(sent) < spans - 1:
            step, parent = len(sent), agents[-1]
            began, now = now, now + draw.randrange(SECOND // 100, 2 * SECOND)
            if step % 9 == 8:
                agents.append(draw.randbytes(8))
                made = self._agent(trace_id, agents[-1], parent, began, now)
            elif step % 3 == 0:
                made = self._chat(trace_id, parent, began, now, thread, labels)
            elif step % 3 == 1 or draw.random() < 0.5:
                made = self._tool(trace_id, parent, began, now)
            else:
                made = self._retrieval(trace_id, parent, began, now)
            sent.append(made)
            if step % 9 == 7 and len(agents) > 1:
                agents.pop()
        attributes = self._content("AGENT") | {"session.id": thread}
        if labels:
            attributes["tag.tags"] = labels
        if self.users:
            attributes |= self._user(trace_id)
        sent.append(SentSpan(trace_id, root, b"", "answer_customer", start_ns, now, attributes))
        return sent

    def _user(self, trace_id: bytes) -> dict[str, AttributeValue]:
        """A user and metadata. Users with small numbers have more traces than others."""
        drawn = int.from_bytes(trace_id[:4])
        user = int((drawn / 2**32) ** 2 * self.users)
        metadata = {"tenant": f"tenant-{user % 20}", "plan": ("free", "team")[user % 3 == 0]}
        return {"user.id": f"user-{user}", "metadata": json.dumps(metadata)}

    def _thread(self, number: int) -> str:
        return f"thread-{(self.first_thread + number) // 4}"

    def chain(self, depth: int, start_ns: int = BEGIN_NS) -> list[SentSpan]:
        """A trace in which every span is the child of the one before, as in a recursive agent."""
        trace_id, parent, sent = self._random.randbytes(16), b"", list[SentSpan]()
        for level in range(depth):
            span_id = self._random.randbytes(8)
            begin, end = start_ns + level * 1_000, start_ns + (2 * depth - level) * 1_000
            sent.append(self._agent(trace_id, span_id, parent, begin, end))
            parent = span_id
        return sent

    def text(self, size: int) -> str:
        """About `size` characters of prose, code or JSON; some contain the searched word."""
        kind, draw = self._random.randrange(3), self._random.random
        lines, pool = list[str](), _pool()[kind]
        left, last = size - 20, len(pool)
        while left > 0:
            lines.append(pool[int(draw() * last)])
            left -= len(lines[-1]) + 1
        lines.append(f"number {self._random.getrandbits(40):x}")
        if draw() < NEEDLE_SHARE:
            lines.append(NEEDLE)
        return "\n".join(lines)

    def _content(self, kind: str) -> dict[str, AttributeValue]:
        size = self.text_bytes // 2
        return {
            "openinference.span.kind": kind,
            "input.value": self.text(size),
            "output.value": self.text(size),
        }

    def _agent(
        self, trace_id: bytes, span_id: bytes, parent: bytes, begin: int, end: int
    ) -> SentSpan:
        name = f"plan_{self._word()}"
        return SentSpan(trace_id, span_id, parent, name, begin, end, self._content("AGENT"))

    def _chat(
        self,
        trace_id: bytes,
        parent: bytes,
        begin: int,
        end: int,
        thread: str,
        labels: tuple[str, ...],
    ) -> SentSpan:
        draw = self._random
        (model,) = draw.choices(tuple(MODELS), cum_weights=_model_weights())
        size = self.text_bytes // 2 - 60
        sent, replied = draw.randrange(200, 4_000), draw.randrange(20, 800)
        attributes: dict[str, AttributeValue] = {
            "openinference.span.kind": "LLM",
            "llm.model_name": model,
            "llm.provider": MODELS[model][0],
            "llm.invocation_parameters": '{"temperature":0.2}',
            "llm.token_count.prompt": sent,
            "llm.token_count.completion": replied,
            "llm.token_count.total": sent + replied,
            "llm.token_count.prompt_details.cache_read": sent // 3,
            "session.id": thread,
            "input.mime_type": "application/json",
            "input.value": json.dumps([{"role": "user", "content": self.text(size)}]),
            "output.mime_type": "application/json",
            "output.value": json.dumps([{"role": "assistant", "content": self.text(size)}]),
        }
        if labels:
            attributes["tag.tags"] = labels
        error = draw.choice(FAILURES) if draw.random() < 0.01 else None
        return SentSpan(
            trace_id, draw.randbytes(8), parent, "ChatCompletion", begin, end, attributes, error
        )

    def _tool(self, trace_id: bytes, parent: bytes, begin: int, end: int) -> SentSpan:
        draw = self._random
        name = draw.choice(TOOLS)
        attributes = self._content("TOOL") | {
            "tool.name": name,
            "input.mime_type": "application/json",
            "input.value": json.dumps({"text": self.text(self.text_bytes // 2 - 40)}),
        }
        error = draw.choice(FAILURES) if draw.random() < 0.04 else None
        return SentSpan(trace_id, draw.randbytes(8), parent, name, begin, end, attributes, error)

    def _retrieval(self, trace_id: bytes, parent: bytes, begin: int, end: int) -> SentSpan:
        attributes = self._content("RETRIEVER")
        return SentSpan(
            trace_id, self._random.randbytes(8), parent, "find_documents", begin, end, attributes
        )

    def _word(self) -> str:
        return _WORDS[int(self._random.random() * len(_WORDS))]


@cache
def _model_weights() -> tuple[float, ...]:
    return tuple(accumulate(share for _, share in MODELS.values()))


@cache
def _pool() -> tuple[tuple[str, ...], ...]:
    """Lines of prose, of code and of JSON, the same in every process."""
    draw = random.Random("lines")

    def identifier() -> str:
        return "_".join(draw.choices(_WORDS, k=draw.choice((1, 2, 2, 3))))

    def prose() -> str:
        words = [draw.choice(_GLUE if draw.random() < 0.45 else _WORDS) for _ in range(12)]
        return " ".join(words).capitalize() + "."

    def code() -> str:
        return f"    {identifier()} = {identifier()}({identifier()}, limit={draw.randrange(100)})"

    def entry() -> str:
        return json.dumps({identifier(): identifier(), draw.choice(_WORDS): draw.randrange(10_000)})

    return tuple(tuple(line() for _ in range(5_000)) for line in (prose, code, entry))
