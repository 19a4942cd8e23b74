"""The commands that manage the projects, users and keys of a shared server."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Ran, treadle


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def answer(home: Path, *words: str) -> Any:
    ran = treadle(*words, "--json", home=home)
    assert ran.status == 0, ran.err
    return json.loads(ran.out)


def refused(home: Path, *words: str) -> Ran:
    ran = treadle(*words, home=home)
    assert ran.status != 0
    assert len(ran.err.splitlines()) == 1
    return ran


def test_lists_of_a_new_installation_create_no_file(home: Path) -> None:
    (project,) = answer(home, "projects", "list")["projects"]
    assert project == {"name": "default", "created_us": 0, "repository": None}
    assert answer(home, "users", "list") == {"users": [], "invitations": []}
    assert answer(home, "keys", "list") == {"keys": []}
    assert answer(home, "audit") == {"entries": []}
    assert not list(home.rglob("identity.db*"))


def test_project_keeps_the_root_of_its_repository(home: Path, tmp_path: Path) -> None:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "inner").mkdir()
    answer(home, "projects", "add", "alpha", "--repository", str(tmp_path / "repo" / "inner"))
    answer(home, "projects", "add", "beta")
    found = {
        each["name"]: each["repository"] for each in answer(home, "projects", "list")["projects"]
    }
    assert found == {"alpha": str(tmp_path / "repo"), "beta": None, "default": None}
    refused(home, "projects", "add", "gamma", "--repository", str(tmp_path / "missing"))


def test_key_is_printed_once(home: Path) -> None:
    created = treadle("keys", "create", "ci", "--scopes", "ingest,read", home=home)
    secret = created.out.strip()
    assert secret.startswith("tdl_")
    assert secret not in created.err
    (key,) = answer(home, "keys", "list")["keys"]
    assert (key["name"], key["scopes"], key["revoked_us"]) == ("ci", ["ingest", "read"], None)
    assert secret.startswith(key["prefix"])
    assert secret not in treadle("keys", "list", "--all", home=home).out
    assert secret not in treadle("audit", home=home).out
    answer(home, "keys", "revoke", "ci")
    assert answer(home, "keys", "list") == {"keys": []}
    assert len(answer(home, "keys", "list", "--all")["keys"]) == 1
    refused(home, "keys", "revoke", "ci")


@pytest.mark.parametrize(
    "options",
    [
        ("--scopes", "everything"), ("--scopes", ","), ("--project", "unknown"),
        ("--expires", "tomorrow"), ("--requests-per-minute", "0"), ("--dollars-per-day", "nan"),
        ("--dollars-per-month", "-1"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_invalid_key_is_refused(home: Path, options: tuple[str, ...]) -> None:
    refused(home, "keys", "create", "ci", *options)
    assert answer(home, "keys", "list") == {"keys": []}


def test_user_is_invited_with_a_link_and_removed(home: Path) -> None:
    answer(home, "projects", "add", "web")
    invited = treadle(
        "users", "invite", "ada@example.com", "--project", "web", "--role", "editor",
        home=home, TREADLE_SERVER__ADDRESS="https://treadle.example.com/",
    )  # fmt: skip
    assert invited.out.startswith("https://treadle.example.com/sign-in#invitation=")
    listed = answer(home, "users", "list")
    assert listed["users"] == []
    (invitation,) = listed["invitations"]
    assert (invitation["email"], invitation["role"]) == ("ada@example.com", "editor")
    refused(home, "users", "remove", "ada@example.com")
    refused(home, "users", "role", "ada@example.com", "admin")
    refused(home, "users", "invite", "ada")


def test_removed_project_is_not_listed(home: Path) -> None:
    answer(home, "projects", "add", "web")
    refused(home, "projects", "add", "web")
    refused(home, "projects", "add", "Web site")
    assert [each["name"] for each in answer(home, "projects", "list")["projects"]] == [
        "default",
        "web",
    ]
    answer(home, "projects", "remove", "web")
    refused(home, "projects", "remove", "web")
    refused(home, "projects", "remove", "default")


def test_audit_log_records_every_change(home: Path) -> None:
    answer(home, "projects", "add", "web")
    answer(home, "keys", "create", "ci", "--project", "web")
    answer(home, "users", "invite", "ada@example.com")
    answer(home, "keys", "revoke", "ci")
    answer(home, "projects", "remove", "web")
    entries = answer(home, "audit")["entries"]
    assert [entry["action"] for entry in entries] == [
        "project removed", "key revoked", "user invited", "key created", "project added",
    ]  # fmt: skip
    assert {entry["who"] for entry in entries} == {"command line"}
    assert len(answer(home, "audit", "--project", "web", "--limit", "3")["entries"]) == 3
    assert "key revoked" in treadle("audit", "--since", "1h", home=home).out
