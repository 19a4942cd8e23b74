import pytest

from tests.toolbox.repository import Repository
from treadle.events.types import ErrorKind, ToolCallCompleted
from treadle.tokens import estimate


def test_entries_have_kinds_and_sizes_in_order(repository: Repository) -> None:
    repository.write("b.py", "12345")
    repository.write("src/a.py", "")
    (repository.root / "a-link").symlink_to("b.py")
    result = repository.ok("list_dir")
    assert result == {
        "ok": True,
        "type": "dir",
        "v": 1,
        "path": ".",
        "entries": [
            {"name": "a-link", "kind": "link", "target": "b.py"},
            {"name": "b.py", "kind": "file", "size": 5},
            {"name": "src", "kind": "folder"},
        ],
        "total": 3,
        "ignored": 0,
    }


def test_ignored_entries_are_counted_and_listed_when_asked_for(repository: Repository) -> None:
    repository.write(".gitignore", "*.log\nbuild/\n!keep.log\n")
    for name in ("a.log", "keep.log", "build/x", ".git/config"):
        repository.write(name, "")
    result = repository.ok("list_dir")
    assert [entry["name"] for entry in result["entries"]] == [".gitignore", "keep.log"]
    assert (result["total"], result["ignored"]) == (2, 3)
    everything = repository.ok("list_dir", include_ignored=True)
    assert [entry["name"] for entry in everything["entries"]] == [
        ".git",
        ".gitignore",
        "a.log",
        "build",
        "keep.log",
    ]


def test_ignore_rules_of_parent_folders_apply(repository: Repository) -> None:
    repository.write(".gitignore", "/src/gen/\n")
    repository.write("src/gen/x.py", "")
    repository.write("src/y.py", "")
    result = repository.ok("list_dir", path="src")
    assert [entry["name"] for entry in result["entries"]] == ["y.py"]
    assert result["path"] == "src"


def test_large_folder_is_paged(repository: Repository) -> None:
    for number in range(300):
        repository.write(f"file_{number:03}.py", "")
    names: list[str] = []
    offset = 0
    for _ in range(50):
        outcome = repository.call("list_dir", offset=offset, max_tokens=1000)
        assert isinstance(outcome, ToolCallCompleted)
        assert estimate(outcome.content) <= 1000
        result = repository.ok("list_dir", offset=offset, max_tokens=1000)
        names += [entry["name"] for entry in result["entries"]]
        if "more" not in result:
            break
        offset += len(result["entries"])
        assert f"offset {offset}." in result["more"]
    assert names == [f"file_{number:03}.py" for number in range(300)]


def test_name_that_is_not_utf8_is_listed(repository: Repository) -> None:
    (repository.root / "caf\udce9").write_text("x")
    assert [entry["name"] for entry in repository.ok("list_dir")["entries"]] == ["caf?"]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("a.py", ErrorKind.VALIDATION),
        ("missing", ErrorKind.NOT_FOUND),
        (".git", ErrorKind.DENIED),
        ("..", ErrorKind.PERMISSION),
    ],
)
def test_path_that_is_not_a_folder_of_the_root_is_refused(
    repository: Repository, path: str, kind: ErrorKind
) -> None:
    repository.write("a.py", "")
    assert repository.failed("list_dir", path=path).error.kind is kind


def test_a_person_sees_one_line(repository: Repository) -> None:
    repository.write("a.py", "")
    outcome = repository.call("list_dir")
    assert isinstance(outcome, ToolCallCompleted)
    assert outcome.ui.summary == ".: 1 of 1 entry"
