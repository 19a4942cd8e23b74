"""code_item_lookup and code_item_edges, as a session calls them."""

import pytest

from tests.toolbox.repository import Repository
from treadle.events.types import ErrorKind, ToolCallCompleted
from treadle.tokens import estimate

SHOP = """\
from money import rounded


class Cart:
    def total(self, tax: float) -> float:
        return rounded(self.net() + tax) + print(tax) + fetch()

    def net(self) -> float:
        return 1.0


class Order:
    def total(self) -> float:
        return Cart().total(0.2)
"""
MONEY = "def rounded(amount: float) -> float:\n    return round(amount, 2)\n"


@pytest.fixture
def shop(repository: Repository) -> Repository:
    repository.write("src/shop.py", SHOP)
    repository.write("src/money.py", MONEY)
    repository.write("docs/guide.md", "# Guide\n\n## Totals\n\nHow totals are made.\n")
    return repository


def test_an_item_is_found_by_its_name_with_its_signature(shop: Repository) -> None:
    start = SHOP.index("    def net") + 4
    assert shop.ok("code_item_lookup", name="net") == {
        "ok": True,
        "type": "items",
        "v": 1,
        "items": [
            {
                "name": "net",
                "canonical_path": "shop.Cart.net",
                "kind": "method",
                "file": "src/shop.py",
                "lines": "8-9",
                "start_byte": start,
                "end_byte": SHOP.index("1.0") + 3,
                "signature": "def net(self) -> float:",
            }
        ],
        "total": 1,
    }


@pytest.mark.parametrize(
    ("arguments", "paths"),
    [
        ({"name": "total"}, ["shop.Cart.total", "shop.Order.total"]),
        ({"name": "Cart.total"}, ["shop.Cart.total"]),
        ({"name": "shop.Order.total"}, ["shop.Order.total"]),
        ({"name": "cart"}, ["shop.Cart"]),
        ({"name": "total()", "kind": "method"}, ["shop.Cart.total", "shop.Order.total"]),
        ({"name": "shop", "kind": "module"}, ["shop"]),
        ({"name": "rounded", "file": "money.py"}, ["money.rounded"]),
        ({"name": "Totals"}, ["docs/guide.md > Guide > Totals"]),
        ({"name": "docs/guide.md > Guide > Totals"}, ["docs/guide.md > Guide > Totals"]),
    ],
)
def test_item_is_found_by_its_name_or_path(
    shop: Repository, arguments: dict[str, str], paths: list[str]
) -> None:
    items = shop.ok("code_item_lookup", **arguments)["items"]
    assert [item["canonical_path"] for item in items] == paths


def test_unknown_name_lists_the_nearest_items(shop: Repository) -> None:
    for tool in ("code_item_lookup", "code_item_edges"):
        error = shop.failed(tool, name="Cart.totals").error
        assert (error.kind, error.field) == (ErrorKind.NOT_FOUND, "name")
        assert str(error.hint).startswith("The nearest: shop.Cart.total (src/shop.py:5), ")


def test_matches_are_cut_to_the_budget_and_paged(repository: Repository) -> None:
    for number in range(60):
        repository.write(f"m{number:02}.py", "def same(argument):\n    pass\n")
    outcome = repository.call("code_item_lookup", name="same", max_tokens=600)
    assert isinstance(outcome, ToolCallCompleted)
    assert estimate(outcome.content) <= 600
    seen: list[str] = []
    while True:
        result = repository.ok("code_item_lookup", name="same", max_tokens=600, offset=len(seen))
        seen += [item["file"] for item in result["items"]]
        assert result["total"] == 60
        if "more" not in result:
            break
    assert seen == [f"m{number:02}.py" for number in range(60)]


def test_outgoing_edges_include_unresolved_ones(shop: Repository) -> None:
    result = shop.ok("code_item_edges", name="Cart.total", direction="out", edges=["calls"])
    assert result["item"]["canonical_path"] == "shop.Cart.total"
    assert [
        (edge["text"], edge.get("target", {}).get("canonical_path"), edge.get("unresolved"))
        for edge in result["edges"]
    ] == [
        ("rounded", "money.rounded", None),
        ("self.net", "shop.Cart.net", None),
        ("fetch", None, "no reachable definition"),
    ]
    assert (result["total"], result["unresolved"]) == (3, 1)
    assert result["edges"][0]["at"] == "src/shop.py:6"


def test_incoming_edges_are_followed_to_the_depth(shop: Repository) -> None:
    result = shop.ok("code_item_edges", name="rounded", direction="in", edges=["calls"], depth=2)
    assert [(edge["source"]["canonical_path"], edge.get("step")) for edge in result["edges"]] == [
        ("shop.Cart.total", None),
        ("shop.Order.total", 2),
    ]


def test_possible_uses_of_the_item_are_listed(repository: Repository) -> None:
    calls = "".join(f"def use{number}(thing): thing.close()\n" for number in range(14))
    repository.write("a.py", f"class Till:\n    def close(self): ...\n\n{calls}")
    result = repository.ok("code_item_edges", name="close", direction="in", edges=["calls"])
    assert (result["edges"], result["total"], result["unresolved"]) == ([], 14, 14)
    first = "a.py:4 (thing.close: the type of the value is not known), a.py:5 (thing.close"
    assert result["possible"].startswith(
        f"14 more places name it and could not be resolved: {first}"
    )
    assert result["possible"].endswith(" and 2 more; grep finds them.")
    assert "more" not in result


def test_ambiguous_name_is_refused_with_its_items(shop: Repository) -> None:
    error = shop.failed("code_item_edges", name="total").error
    assert error.kind is ErrorKind.VALIDATION
    assert "shop.Cart.total (src/shop.py), shop.Order.total" in str(error.hint)


def test_edges_fit_the_budget(repository: Repository) -> None:
    calls = "\n".join(f"    f{number}()" for number in range(200))
    definitions = "\n".join(f"def f{number}(): pass" for number in range(200))
    repository.write("a.py", f"def all_of_them():\n{calls}\n\n{definitions}\n")
    outcome = repository.call("code_item_edges", name="all_of_them", max_tokens=500)
    assert isinstance(outcome, ToolCallCompleted)
    assert estimate(outcome.content) <= 500
    result = repository.ok("code_item_edges", name="all_of_them", max_tokens=500)
    shown = len(result["edges"])
    assert result["total"] == 201
    assert result["more"] == f"{201 - shown} more; call again with offset {shown}."


def test_a_person_sees_one_line(shop: Repository) -> None:
    found = shop.call("code_item_lookup", name="net")
    edges = shop.call("code_item_edges", name="Cart.total", direction="out", edges=["calls"])
    assert isinstance(found, ToolCallCompleted)
    assert isinstance(edges, ToolCallCompleted)
    assert found.ui.summary == "net: 1 item, first src/shop.py:8-9"
    assert edges.ui.summary == "shop.Cart.total: 3 edges, 1 unresolved"
