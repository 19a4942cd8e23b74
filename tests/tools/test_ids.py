"""References: an id, the beginning of one, with or without dashes."""

import pytest

from treadle.errors import NotFoundError, UsageError
from treadle.ids import resolve_prefix

IDS = ("01a2204f-9d90-7423-8f74-672273ff32a8", "01a2204f-9d90-7423-8f74-772273ff32a8", "ab", "abc")


def resolve(reference: str, ids: tuple[str, ...] = IDS) -> str:
    def find(prefix: str, limit: int) -> list[str]:
        return [each for each in ids if each.startswith(prefix)][:limit]

    return resolve_prefix(reference, find, noun="thing", listing="`things list`", scope=" here")


@pytest.mark.parametrize(
    ("reference", "meant"),
    [
        ("ab", 2),
        (" abc ", 3),
        (IDS[0], 0),
        (IDS[1].upper(), 1),
        ("01a2204f9d9074238f747", 1),
        ("01a2204f-9d90-7423-8f74-6", 0),
    ],
)
def test_an_id_or_its_unique_beginning_is_resolved(reference: str, meant: int) -> None:
    assert resolve(reference) == IDS[meant]


def test_an_ambiguous_beginning_names_the_candidates() -> None:
    with pytest.raises(UsageError) as caught:
        resolve("01A2")
    assert caught.value.message == f"Several things begin with '01A2': {IDS[0]}, {IDS[1]}."
    with pytest.raises(UsageError, match="a0, a1, a2, a3, a4, …"):
        resolve("a", tuple(f"a{number}" for number in range(6)))


@pytest.mark.parametrize("reference", ["", "-", "zz", "x" * 1000])
def test_an_unknown_id_names_where_ids_are_listed(reference: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        resolve(reference)
    assert caught.value.message == f"There is no thing {reference[:100]!r} here."
    assert caught.value.hint == "List the ids with `things list`."
