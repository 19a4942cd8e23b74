"""The training: what it learns, that it is repeatable, and that search reads its files."""

import dataclasses
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.train_embedding.bags import Bags, Pairs, collect
from tools.train_embedding.examples import Example
from tools.train_embedding.training import Recipe, train
from tools.train_embedding.writing import write
from treadle.code.dense.static_embedding import StaticEmbedding
from treadle.code.terms import term_counts

SYNONYMS = {"erase": "remov", "fetch": "load", "begin": "start", "mend": "repair"}
THINGS = [f"thing{letter}" for letter in "abcdefghijklmnop"]
RECIPE = Recipe(dimension=32, epochs=12, batch=32, neighbours=4, warm_up=4)


def written_functions() -> Iterator[Example]:
    """Functions that contain `remove` while their sentences say erase, and so on."""
    draw = random.Random(3)
    for number in range(600):
        asked, said = draw.choice(sorted(SYNONYMS.items()))
        thing, other = draw.sample(THINGS, 2)
        terms = {said: 64, thing: 32, other: 16, "self": 32, f"word{draw.randrange(40)}": 16}
        yield Example(
            "Python", "package", f"file{number // 6}.py", f"{said}_{thing}", f"{asked} the {thing}",
            "", terms, (said, thing), 5,
        )  # fmt: skip


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    return collect(written_functions(), most_terms=80, unit=32.0)


@pytest.fixture(scope="module")
def model(pairs: Pairs, tmp_path_factory: pytest.TempPathFactory) -> StaticEmbedding:
    folder = tmp_path_factory.mktemp("model")
    write(folder, pairs.vocabulary, train(pairs, RECIPE, lambda _: None), 32.0)
    return StaticEmbedding(folder)


@pytest.mark.parametrize(("asked", "said"), SYNONYMS.items())
def test_sentences_find_their_functions(model: StaticEmbedding, asked: str, said: str) -> None:
    items = [{word: 64, "thinga": 32, "self": 32} for word in SYNONYMS.values()]
    likeness = model.documents(items).astype(np.float32) @ model.query(f"{asked} the thinga")
    assert list(SYNONYMS.values())[int(likeness.argmax())] == said


def test_training_again_gives_the_same_files(pairs: Pairs, tmp_path: Path) -> None:
    once, twice = (train(pairs, RECIPE, lambda _: None) for _ in range(2))
    assert write(tmp_path / "a", pairs.vocabulary, once, 32.0) == write(
        tmp_path / "b", pairs.vocabulary, twice, 32.0
    )
    for file in ("table.npy", "weights.npy", "terms.txt", "model.json"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    other = train(pairs, dataclasses.replace(RECIPE, seed=1), lambda _: None)
    assert (other.vectors != once.vectors).any()


def test_the_terms_that_most_functions_have_are_kept_and_rare_ones_weigh_more(pairs: Pairs) -> None:
    few = collect(written_functions(), most_terms=10, unit=32.0)
    assert len(few.vocabulary) == 10
    assert "self" in few.vocabulary
    assert int(few.documents.terms.max()) < 10
    rarity = dict(zip(pairs.vocabulary, pairs.rarity, strict=True))
    assert rarity["self"] < rarity["thinga"] < rarity["word7"]


def test_eight_bits_are_close_to_the_trained_values(pairs: Pairs, tmp_path: Path) -> None:
    learnt = train(pairs, RECIPE, lambda _: None)
    write(tmp_path, pairs.vocabulary, learnt, 32.0)
    numbers = {term: number for number, term in enumerate(pairs.vocabulary)}
    rows = [numbers[term] for term in term_counts("erase the thinga")]
    exact = (learnt.vectors[rows] * learnt.in_query[rows][:, None]).sum(axis=0)
    read = StaticEmbedding(tmp_path).query("erase the thinga")
    assert read @ exact / np.linalg.norm(exact) > 0.999


COUNTS = st.lists(st.dictionaries(st.integers(0, 9), st.floats(0.5, 4), max_size=6), max_size=150)


@given(COUNTS)
def test_bags_equal_the_matrix_product(counts: list[dict[int, float]]) -> None:
    sizes = np.cumsum([0, *map(len, counts)])
    bags = Bags(
        sizes,
        np.array([term for bag in counts for term in bag], np.int32),
        np.array([value for bag in counts for value in bag.values()], np.float32),
    )
    matrix = np.zeros((len(counts), 10), np.float32)
    for row, bag in enumerate(counts):
        for term, value in bag.items():
            matrix[row, term] = value
    vectors = np.arange(40, dtype=np.float32).reshape(10, 4)
    np.testing.assert_allclose(bags.sums(vectors), matrix @ vectors, rtol=1e-5)
    turned = bags.turned(10).sums(np.ones((len(counts), 2), np.float32))
    np.testing.assert_allclose(turned, matrix.T @ np.ones((len(counts), 2)), rtol=1e-5)
    chosen = np.arange(len(counts))[::-2]
    np.testing.assert_allclose(
        bags.taken(chosen).sums(vectors), matrix[chosen] @ vectors, rtol=1e-5
    )
