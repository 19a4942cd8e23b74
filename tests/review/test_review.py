"""Reviews of changes in real repositories, without a model."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.commits.repository import Repository
from treadle.app.review import Review, review, sarif
from treadle.code import CodeIndex
from treadle.errors import UsageError
from treadle.git import GitError
from treadle.review.changes import Side
from treadle.review.findings import Rule, Severity
from treadle.review.items import ItemChange

FILES = {
    "shop/__init__.py": "",
    "shop/money.py": "def rounded(amount):\n    return round(amount, 2)\n\n\n"
    "def taxed(amount):\n    return amount * 1.2\n",
    "shop/cart.py": "from shop.money import rounded\n\n\n"
    "class Cart:\n    def total(self, prices):\n        return rounded(sum(prices))\n\n"
    "    def empty(self):\n        return True\n",
    "tests/helpers.py": "def cart():\n    return None\n",
    "tests/test_cart.py": "from shop.cart import Cart\n\n\n"
    "def test_total():\n    assert Cart().total([1]) == 1\n",
}


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository.create(tmp_path / "repo")
    made.commit("Begin", FILES)
    return made


@contextmanager
def opened(repository: Repository, tmp_path: Path) -> Iterator[CodeIndex]:
    with CodeIndex.open(repository.root, cache_dir=tmp_path / "cache") as index:
        yield index


@pytest.fixture
def index(repository: Repository, tmp_path: Path) -> Iterator[CodeIndex]:
    with opened(repository, tmp_path) as found:
        yield found


def reviewed(
    repository: Repository,
    index: CodeIndex,
    revisions: str | None = None,
    side: Side = Side.WORK_TREE,
) -> Review:
    return review(repository.root, index, revisions, side)


def changes(found: Review) -> dict[str, ItemChange]:
    return {each.item.canonical_path: each.item.change for each in found.items}


def test_uses_of_a_removed_function_are_errors(repository: Repository, index: CodeIndex) -> None:
    repository.write("shop/money.py", "def taxed(amount):\n    return amount * 1.2\n")
    found = reviewed(repository, index)
    assert changes(found) == {"shop.money.rounded": ItemChange.REMOVED}
    errors = [each for each in found.findings if each.severity is Severity.ERROR]
    assert {(each.file, each.line) for each in errors} >= {("shop/cart.py", 1)}
    assert errors[0].rule is Rule.BROKEN_USE
    assert "shop.money.rounded" in errors[0].message


def test_a_moved_function_whose_imports_follow_is_accepted(
    repository: Repository, index: CodeIndex
) -> None:
    repository.write("shop/money.py", "def taxed(amount):\n    return amount * 1.2\n")
    repository.write("shop/rounding.py", "def rounded(amount):\n    return round(amount, 2)\n")
    repository.write("shop/cart.py", FILES["shop/cart.py"].replace("shop.money", "shop.rounding"))
    found = reviewed(repository, index)
    assert [each for each in found.findings if each.severity is Severity.ERROR] == []


def test_callers_of_a_changed_signature_are_warnings(
    repository: Repository, index: CodeIndex
) -> None:
    repository.write(
        "shop/money.py",
        FILES["shop/money.py"].replace("rounded(amount)", "rounded(amount, digits)"),
    )
    found = reviewed(repository, index)
    assert changes(found) == {"shop.money.rounded": ItemChange.SIGNATURE}
    (warning,) = [each for each in found.findings if each.severity is Severity.WARNING]
    assert (warning.rule, warning.file, warning.line) == (Rule.UNCHANGED_CALLER, "shop/cart.py", 6)
    both = FILES["shop/cart.py"].replace("rounded(sum(prices))", "rounded(sum(prices), 2)")
    repository.write("shop/cart.py", both)
    again = reviewed(repository, index)
    assert [each for each in again.findings if each.rule is Rule.UNCHANGED_CALLER] == []


def test_tests_to_run_and_missing_tests_are_named(repository: Repository, index: CodeIndex) -> None:
    changed = FILES["shop/cart.py"].replace("sum(prices)", "sum(prices) + 0")
    repository.write("shop/cart.py", changed.replace("return True", "return False"))
    found = reviewed(repository, index)
    assert changes(found) == {
        "shop.cart.Cart.total": ItemChange.BODY, "shop.cart.Cart.empty": ItemChange.BODY,
    }  # fmt: skip
    assert found.tests_to_run == ("tests/test_cart.py",)
    (note,) = found.findings
    assert (note.rule, note.severity) == (Rule.UNTESTED, Severity.NOTE)
    assert "Cart.empty" in note.message


def test_changes_of_white_space_and_comments_outside_of_items_are_not_listed(
    repository: Repository, index: CodeIndex
) -> None:
    repository.write("shop/money.py", "# Amounts.\n\n" + FILES["shop/money.py"] + "\n\n")
    assert changes(reviewed(repository, index)) == {}


def test_helpers_of_tests_are_not_run(repository: Repository, index: CodeIndex) -> None:
    repository.write("tests/helpers.py", "def cart():\n    return 1\n")
    assert reviewed(repository, index).tests_to_run == ()


def test_base_index_and_ranges_select_the_changes(repository: Repository, index: CodeIndex) -> None:
    repository.git("checkout", "--quiet", "-b", "work")
    repository.commit("Add", {"shop/new.py": "def fresh():\n    return 1\n"})
    repository.stage("shop/staged.py", "def staged():\n    return 1\n")
    repository.write("shop/loose.py", "def loose():\n    return 1\n")
    assert set(changes(reviewed(repository, index))) == {"shop.staged.staged", "shop.loose.loose"}
    assert set(changes(reviewed(repository, index, side=Side.INDEX))) == {"shop.staged.staged"}
    assert set(changes(reviewed(repository, index, "main"))) == {
        "shop.new.fresh", "shop.staged.staged", "shop.loose.loose",
    }  # fmt: skip
    assert set(changes(reviewed(repository, index, "main..work"))) == {"shop.new.fresh"}
    assert set(changes(reviewed(repository, index, "main...work"))) == {"shop.new.fresh"}


def test_files_that_are_not_reviewed_are_named(repository: Repository, index: CodeIndex) -> None:
    repository.write(".env", "KEY=1\n")
    repository.write("large.py", "x = 1\n" * 200_000)
    (repository.root / "link.py").symlink_to("shop/cart.py")
    repository.git("add", "--force", "link.py")
    reasons = {each.path: each.reason for each in reviewed(repository, index).not_reviewed}
    assert "larger than" in reasons["large.py"]
    assert reasons["link.py"] == "a link or a submodule"
    assert "keys or passwords" in reasons[".env"]


@pytest.mark.parametrize("name", ["nosuch", "--output=x", "main..nosuch", "-"])
def test_unknown_revisions_are_errors(repository: Repository, index: CodeIndex, name: str) -> None:
    with pytest.raises(UsageError, match="git finds no commit"):
        reviewed(repository, index, name)
    assert not (repository.root / "x").exists()


def test_a_folder_without_git_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    with (
        CodeIndex.open(folder, cache_dir=tmp_path / "cache") as index,
        pytest.raises((GitError, UsageError)),
    ):
        review(folder, index, None, Side.WORK_TREE)


def test_broken_files_are_reviewed_as_far_as_they_parse(
    repository: Repository, index: CodeIndex
) -> None:
    repository.write("shop/money.py", FILES["shop/money.py"] + "\ndef broken(:\n")
    repository.write("bad.py", b"\xff\xfe\x00def x")
    assert isinstance(reviewed(repository, index), Review)


def test_sarif_has_a_position_for_each_finding(repository: Repository, index: CodeIndex) -> None:
    repository.write("shop/money.py", "def taxed(amount):\n    return amount * 1.2\n")
    found = reviewed(repository, index)
    (run,) = sarif(found)["runs"]
    assert len(run["results"]) == len(found.findings)
    location = run["results"][0]["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "shop/cart.py"
    assert location["region"] == {"startLine": 1}
    known = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert {result["ruleId"] for result in run["results"]} <= known
