"""The own embedding as a function: what it makes of terms, and what it refuses."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.embedding import DIMENSION, write_embedding
from treadle.code.dense import EmbeddingError
from treadle.code.dense.static_embedding import LENGTH, StaticEmbedding
from treadle.code.dense.vector_index import MIN_SIMILARITY, SIEVED, VectorIndex, signs_of

TERMS = ["load", "read", "write", "spindl", "naïv", "x9"]
Items = list[dict[str, int]]
counted = st.dictionaries(
    st.sampled_from([*TERMS, "unheard", "of"]), st.integers(1, 65_535), max_size=8
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_embedding(tmp_path_factory.mktemp("model") / "small", TERMS)


@pytest.fixture(scope="module")
def model(folder: Path) -> StaticEmbedding:
    return StaticEmbedding.load(folder)


def plainly(folder: Path, item: dict[str, int]) -> "numpy.typing.NDArray[numpy.float64]":
    """The unit vector of an item, computed as the definition says."""
    table, weights = numpy.load(folder / "table.npy"), numpy.load(folder / "weights.npy")
    total = numpy.zeros(DIMENSION)
    for term, count in item.items():
        if term in TERMS:
            row = TERMS.index(term)
            total += numpy.log1p(count / 16.0) * weights[1][row] * table[row].astype(float)
    return total / (numpy.linalg.norm(total) or 1.0)


@given(items=st.lists(counted, max_size=6))
def test_vectors_are_weighted_sums_within_half_a_step(
    folder: Path, model: StaticEmbedding, items: Items
) -> None:
    made = model.documents(items)
    assert made.shape == (len(items), DIMENSION)
    for row, item in zip(made, items, strict=True):
        assert numpy.abs(row - LENGTH * plainly(folder, item)).max() < 0.51


@given(items=st.lists(counted, min_size=1, max_size=6), data=st.data())
def test_vector_is_independent_of_other_items_and_order(
    model: StaticEmbedding, items: Items, data: st.DataObject
) -> None:
    together = model.documents(items)
    for row, item in zip(together, items, strict=True):
        turned = {term: item[term] for term in data.draw(st.permutations(list(item)))}
        assert model.documents([turned]).tobytes() == row.tobytes()


def test_an_item_of_very_many_terms_is_summed_in_parts(tmp_path: Path) -> None:
    terms = [f"t{number}" for number in range(20_000)]
    model = StaticEmbedding.load(write_embedding(tmp_path / "large", terms))
    item = dict.fromkeys(terms, 32)
    (row,) = model.documents([item])
    (turned,) = model.documents([dict(reversed(item.items()))])
    assert 100 < numpy.linalg.norm(row.astype(float)) < 140
    assert row.tobytes() == turned.tobytes()


def test_a_query_vector_has_length_one_and_is_similar_to_its_terms(model: StaticEmbedding) -> None:
    asked = model.query("How does it load the Spindle?")
    assert float(numpy.linalg.norm(asked)) == pytest.approx(1.0, abs=1e-5)
    near, far = model.documents([{"load": 32, "spindl": 32}, {"write": 32}]) @ asked
    assert near > far
    assert not model.query("nothing of all that").any()
    assert not model.query("").any()


def test_each_term_of_a_query_counts_once(model: StaticEmbedding) -> None:
    assert model.query("load load read").tolist() == model.query("read load").tolist()


@pytest.mark.parametrize(
    "harm",
    [
        lambda folder: (folder / "table.npy").unlink(),
        lambda folder: (folder / "table.npy").write_bytes(b"nothing"),
        lambda folder: (folder / "terms.txt").write_text("one\ntwo\n"),
        lambda folder: (folder / "model.json").write_text("{"),
        lambda folder: (folder / "model.json").write_text("[]"),
        lambda folder: (folder / "model.json").write_text(
            json.dumps({"name": "x", "dimension": DIMENSION, "unit": 16, "format": 99})
        ),
        lambda folder: numpy.save(folder / "table.npy", numpy.zeros((len(TERMS), DIMENSION))),
        lambda folder: numpy.save(folder / "weights.npy", numpy.zeros((2, 3), numpy.float32)),
    ],
)
def test_a_broken_model_is_refused(tmp_path: Path, harm: Callable[[Path], object]) -> None:
    folder = write_embedding(tmp_path / "model", TERMS)
    harm(folder)
    with pytest.raises(EmbeddingError, match="model"):
        StaticEmbedding(folder)


def held(rows: "numpy.typing.NDArray[numpy.int8]") -> VectorIndex:
    ids = numpy.arange(len(rows), dtype=numpy.int64) * 3 + 5
    return VectorIndex({}, ids, rows, signs_of(rows))


def vectors(seed: int, count: int, dimension: int) -> "numpy.typing.NDArray[numpy.float32]":
    drawn = numpy.random.default_rng(seed).standard_normal((count, dimension))
    unit: numpy.typing.NDArray[numpy.float32] = (
        drawn / numpy.linalg.norm(drawn, axis=1, keepdims=True)
    ).astype(numpy.float32)
    return unit


@given(
    seed=st.integers(0, 1000), count=st.integers(0, SIEVED), dimension=st.integers(1, 130),
    limit=st.integers(1, 60),
)  # fmt: skip
def test_nearest_of_few_items_are_exact(seed: int, count: int, dimension: int, limit: int) -> None:
    *rows, query = vectors(seed, count + 1, dimension)
    whole = numpy.rint(numpy.reshape(rows, (count, dimension)) * LENGTH).astype(numpy.int8)
    index = held(whole)
    likeness = numpy.round(whole.astype(numpy.float32) @ query / LENGTH, 6).tolist()
    order = sorted(range(count), key=lambda place: (-likeness[place], place))
    expected = [5 + 3 * place for place in order if likeness[place] >= MIN_SIMILARITY][:limit]
    assert index.nearest(query, limit) == expected
    known = index.similarities(query, [4, *index.items.tolist(), 10**12])
    assert list(known.values()) == pytest.approx(likeness, abs=2e-6)
    assert list(known) == index.items.tolist()


@given(seed=st.integers(0, 1000), place=st.integers(0, 4_999))
def test_item_in_the_direction_of_the_query_is_always_found(seed: int, place: int) -> None:
    rows = vectors(seed, 5_000, 100)
    index = held(numpy.rint(rows * LENGTH).astype(numpy.int8))
    assert index.nearest(rows[place], 50)[0] == 5 + 3 * place
