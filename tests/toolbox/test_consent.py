"""What the reading tools may read: secrets by consent only, and what the rules leave open."""

import pytest

from tests.toolbox.repository import Repository
from treadle.config.model import ApprovalSettings
from treadle.events.types import ErrorKind

SECRETS = [".env", "tls/server.key", ".git/config"]


@pytest.fixture
def tree(repository: Repository) -> Repository:
    for name in SECRETS:
        repository.write(name, "PASSPHRASE = 1\n")
    repository.write("open/a.py", "def passphrase() -> int:\n    return 1\n")
    repository.write("closed/b.py", "def passphrase() -> int:\n    return 2\n")
    return repository


@pytest.mark.parametrize("path", SECRETS)
def test_secrets_are_read_with_consent_of_a_person_or_a_rule(tree: Repository, path: str) -> None:
    calls: list[tuple[str, dict[str, str]]] = [
        ("read_file", {}), ("grep", {"pattern": "PASS"}), ("get_file_metadata", {})
    ]  # fmt: skip
    for tool, arguments in calls:
        error = tree.failed(tool, path=path, **arguments).error
        assert error.kind is ErrorKind.DENIED
        assert "PASSPHRASE" not in error.message
    for tool, arguments in calls:
        tree.consents, tree.rules = True, ApprovalSettings()
        by_person = tree.ok(tool, path=path, **arguments)
        tree.consents, tree.rules = False, ApprovalSettings(allow=(f"{tool} path={path}",))
        assert tree.ok(tool, path=path, **arguments) == by_person
    assert tree.failed("list_dir", path=".git").error.kind is ErrorKind.DENIED
    tree.consents = True
    listed = tree.ok("list_dir", path=".git", include_ignored=True)["entries"]
    assert [each["name"] for each in listed] == ["config"]


def test_consent_to_one_file_does_not_cover_others(tree: Repository) -> None:
    tree.rules = ApprovalSettings(allow=("*", "* path=**", "read_file path=.env"))
    assert tree.ok("read_file", path=".env")
    assert tree.failed("grep", pattern="P", path=".env").error.kind is ErrorKind.DENIED
    assert tree.failed("read_file", path="tls/server.key").error.kind is ErrorKind.DENIED
    everywhere = tree.ok("grep", pattern="(?i)passphrase")
    assert {each["file"] for each in everywhere["files"]} == {"closed/b.py", "open/a.py"}


@pytest.mark.parametrize("kind", ["deny", "ask"])
def test_search_omits_files_that_a_rule_denies(tree: Repository, kind: str) -> None:
    tree.rules = ApprovalSettings(**{kind: ("* path=closed/",)})
    assert tree.failed("read_file", path="closed/b.py").error.kind is ErrorKind.DENIED
    assert tree.failed("list_dir", path="closed").error.kind is ErrorKind.DENIED
    found = tree.ok("grep", pattern="passphrase")
    assert [each["file"] for each in found["files"]] == ["open/a.py"]
    context = tree.ok("request_code_context", token_budget=2_000, hint="passphrase")
    assert [each["file"] for each in context["context"]] == ["open/a.py"]
    assert context["omitted"] >= 1
    items = tree.ok("code_item_lookup", name="passphrase")["items"]
    signatures = {each["file"]: each["signature"] for each in items}
    assert signatures["closed/b.py"] == ""
    assert "def passphrase" in signatures["open/a.py"]


def test_a_rule_about_one_tool_leaves_the_others_alone(tree: Repository) -> None:
    tree.rules = ApprovalSettings(deny=("grep path=closed/",))
    assert tree.ok("read_file", path="closed/b.py")
    assert tree.ok("grep", pattern="passphrase")["total_files"] == 1
