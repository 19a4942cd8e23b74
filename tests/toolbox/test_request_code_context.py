import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.toolbox.repository import Repository
from treadle.code import CodeIndex
from treadle.code.snippets import parse_snippets
from treadle.events import EventBus
from treadle.events.types import (
    CallKey,
    ErrorKind,
    RetrievalFinished,
    ToolCallCompleted,
    ToolCallRequested,
)
from treadle.ids import new_id
from treadle.tokens import estimate
from treadle.toolbox.code import code_tools
from treadle.tools.contract import Registry
from treadle.tools.executor import Caller, ToolExecutor

FLOOR_TOKENS = 60
"""The least size of an answer: that of an empty one with its note."""

PARSER = '''def parse_header(line: str) -> tuple[str, str]:
    """Split one header line into its name and value."""
    name, _, value = line.partition(":")
    return name.strip().lower(), value.strip()
'''

CACHE = '''class HeaderCache:
    """Remembers headers by host."""

    def __init__(self) -> None:
        self.hosts: dict[str, dict[str, str]] = {}

    def remember(self, host: str, headers: dict[str, str]) -> None:
        self.hosts.setdefault(host, {}).update(headers)
'''


@pytest.fixture
def tree(repository: Repository) -> Repository:
    repository.write("web/headers.py", PARSER)
    repository.write("web/cache.py", CACHE)
    repository.write("web/other.py", "def unrelated() -> None:\n    pass\n")
    return repository


def test_result_has_only_exact_snippets_best_first(tree: Repository) -> None:
    result = tree.ok("request_code_context", token_budget=2000, hint="parse_header")
    assert list(result) == ["ok", "query", "top_k", "context", "omitted"]
    assert (result["ok"], result["query"], result["top_k"]) == (True, "parse_header", 25)
    best = result["context"][0]
    assert list(best) == ["name", "canonical_path", "file", "lines", "snippet"]
    assert (best["file"], best["lines"]) == ("web/headers.py", "1-4")
    path = tree.root / "web/headers.py"
    assert best["snippet"] == f'<code="{path}" #0:{len(PARSER) - 1}>\n{PARSER}</code>'
    assert_exact(result)


@pytest.mark.parametrize(
    ("budget", "top_k"), [(1, 5), (479, 5), (480, 6), (6_000, 75), (16_000, 200), (50_000, 200)]
)
def test_budget_determines_the_number_of_candidates(
    tree: Repository, budget: int, top_k: int
) -> None:
    result = tree.ok("request_code_context", token_budget=budget, hint="header")
    assert result["top_k"] == top_k


def test_a_large_budget_is_filled_with_many_small_items(tree: Repository) -> None:
    for number in range(60):
        text = f"def read_header_{number}(line: str) -> int:\n    return line.find({number})\n"
        tree.write(f"web/read_{number}.py", text)
    result = tree.ok("request_code_context", token_budget=10_000, hint="which code reads headers")
    assert len(result["context"]) > 50


def test_next_call_reads_the_edited_file(tree: Repository) -> None:
    tree.ok("request_code_context", token_budget=1000, hint="header")
    tree.write("web/fresh.py", "def entirely_new_thing() -> int:\n    return 1\n")
    result = tree.ok("request_code_context", token_budget=1000, hint="entirely_new_thing")
    assert result["context"][0]["file"] == "web/fresh.py"


def test_too_small_budget_is_reported_with_a_sufficient_one(tree: Repository) -> None:
    result = tree.ok("request_code_context", token_budget=60, hint="HeaderCache")
    assert list(result) == ["ok", "query", "top_k", "context", "omitted", "note"]
    assert result["context"] == []
    assert result["omitted"] > 0
    enough = named_budget(result)
    again = tree.ok("request_code_context", token_budget=enough, hint="HeaderCache")
    assert again["context"]


def test_context_without_matching_words_is_empty_with_a_note(tree: Repository) -> None:
    result = tree.ok("request_code_context", token_budget=1000, hint="zzzyqx")
    assert (result["context"], result["omitted"]) == ([], 0)
    assert result["note"] == '"zzzyqx" occurs nowhere in the index.'


@pytest.mark.parametrize("arguments", [{}, {"hint": None}, {"hint": " \n"}])
def test_call_without_hint_and_message_is_refused(
    tree: Repository, arguments: dict[str, Any]
) -> None:
    error = tree.failed("request_code_context", token_budget=1000, **arguments).error
    assert (error.kind, error.field) == (ErrorKind.VALIDATION, "hint")


@pytest.mark.parametrize("budget", [0, -5])
def test_a_budget_below_one_is_refused(tree: Repository, budget: int) -> None:
    error = tree.failed("request_code_context", token_budget=budget, hint="x").error
    assert (error.field, error.expected) == ("token_budget", "an integer of at least 1")


def test_a_long_query_is_cut_in_the_answer_only(tree: Repository) -> None:
    hint = "parse_header " + "some more words " * 1000
    result = tree.ok("request_code_context", token_budget=1000, hint=hint)
    assert len(result["query"]) < 130
    assert result["context"]


def test_secrets_are_never_returned(tree: Repository) -> None:
    tree.write(".env", "PASSPHRASE_OF_THE_VAULT=opensesame\n")
    tree.write("deploy/server.pem", "passphrase of the vault opensesame\n")
    outcome = tree.call("request_code_context", token_budget=5000, hint="passphrase vault")
    assert isinstance(outcome, ToolCallCompleted)
    assert "opensesame" not in outcome.content


async def test_without_a_hint_the_users_message_is_the_query(tree: Repository) -> None:
    bus = EventBus()
    request_id, parent_id, key = new_id(), new_id(), CallKey(2, 1)
    with bus.subscribe(RetrievalFinished) as retrievals:
        registry = Registry(code_tools(tree.root, tree.index))
        async with ToolExecutor(bus, registry, tree.root) as executor:
            request = ToolCallRequested(
                request_id=request_id,
                parent_id=parent_id,
                key=key,
                call_id="c",
                vendor="",
                name="request_code_context",
                arguments='{"token_budget": 1500}',
            )
            asked = Caller(registry, new_id(), "How are headers remembered?")
            call = executor.open(request, asked)
            await executor.start(call)
            outcome = await asyncio.wait_for(call.outcome, 30)
        retrievals.close()
        (envelope,) = [each async for each in retrievals]
    assert isinstance(outcome, ToolCallCompleted)
    result = json.loads(outcome.content)
    assert result["query"] == "How are headers remembered?"
    event = envelope.event
    assert isinstance(event, RetrievalFinished)
    assert (event.request_id, event.parent_id, event.key) == (request_id, parent_id, key)
    assert (event.query, event.top_k, event.budget) == (result["query"], 18, 1500)
    assert [source.file for source in event.sources] == [
        entry["file"] for entry in result["context"]
    ]
    assert event.tokens == estimate(outcome.content)
    assert (event.index_files, event.omitted) == (3, result["omitted"])
    files = len({entry["file"] for entry in result["context"]})
    snippets = len(result["context"])
    assert outcome.ui.summary == (
        f"{snippets} snippet{'s' * (snippets > 1)} of {files} file{'s' * (files > 1)}, "
        f"{event.tokens:,} of 1,500 tokens"
    )


def named_budget(result: dict[str, Any]) -> int:
    return int("".join(filter(str.isdigit, result["note"])))


def assert_exact(result: dict[str, Any]) -> None:
    for entry in result["context"]:
        (snippet,) = parse_snippets(entry["snippet"])
        data = Path(snippet.path).read_bytes()
        assert snippet.content.encode() == data[snippet.start : snippet.end]
        first, last = (int(line) for line in entry["lines"].split("-"))
        assert first == data.count(b"\n", 0, snippet.start) + 1
        assert last == data.count(b"\n", 0, max(snippet.start, snippet.end - 1)) + 1
        assert snippet.path.endswith(f"/{entry['file']}")


words = st.sampled_from(["parse", "header", "cache", "Ünïcode", "x", "stream_reader", "日本"])
names = st.lists(words, min_size=1, max_size=3).map("_".join)


@st.composite
def python_files(draw: st.DrawFn) -> str:
    pieces = []
    for name in draw(st.lists(names, min_size=1, max_size=6)):
        parameters = ", ".join(draw(st.lists(names, max_size=4, unique=True)))
        body = draw(st.sampled_from(['    return "</code>"\n', "    pass\r\n", "    x = 1\n" * 80]))
        pieces.append(f"def {name}({parameters}):\n{body}")
        if draw(st.booleans()):
            pieces.append(f"class {name.title()}:\n    def run(self):\n    {body}")
    return "\n".join(pieces)


prose = st.lists(words, max_size=200).map(" ".join)
files = st.one_of(
    st.tuples(st.just(".py"), python_files().map(str.encode)),
    st.tuples(st.just(".md"), prose.map(str.encode)),
    st.tuples(st.just(".rs"), st.just(b"fn parse_header(s: &str) -> u8 {\r\n    0\r\n}\r\n")),
    st.tuples(st.just(".txt"), st.binary(max_size=300)),
)
repositories = st.dictionaries(names, files, min_size=1, max_size=6)


def check_budgets(repository: dict[str, tuple[str, bytes]], budgets: list[int], hint: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "root").resolve()
        root.mkdir()
        for name, (ending, content) in repository.items():
            (root / f"{name}{ending}").write_bytes(content)
        with CodeIndex.open(root, cache_dir=Path(folder, "cache")) as index:
            tree = Repository(root, index)
            for budget in budgets:
                outcome = tree.call("request_code_context", token_budget=budget, hint=hint)
                assert isinstance(outcome, ToolCallCompleted)
                assert estimate(outcome.content) <= max(budget, FLOOR_TOKENS)
                result = json.loads(outcome.content)
                assert_exact(result)
                keys = {"ok", "query", "top_k", "context", "omitted"}
                assert set(result) - keys <= {"note"}
                if result.get("note", "").startswith("No snippet fits"):
                    enough = named_budget(result)
                    again = tree.ok("request_code_context", token_budget=enough, hint=hint)
                    assert again["context"]


budgets = st.lists(st.integers(1, 20_000) | st.integers(1, 600), min_size=1, max_size=3)
hints = st.lists(words, min_size=1, max_size=4).map(" ".join)


@settings(max_examples=100, deadline=None)
@given(repositories, budgets, hints)
def test_message_stays_within_its_budget_with_exact_snippets(
    repository: dict[str, tuple[str, bytes]], budgets: list[int], hint: str
) -> None:
    check_budgets(repository, budgets, hint)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@settings(max_examples=1000, deadline=None)
@given(repositories, budgets, hints)
def test_message_stays_within_its_budget_in_many_repositories(
    repository: dict[str, tuple[str, bytes]], budgets: list[int], hint: str
) -> None:
    check_budgets(repository, budgets, hint)
