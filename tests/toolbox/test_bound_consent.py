"""Consent is bound to a repository, a program and files."""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.toolbox.edit_bench import Bench
from treadle import repository_identity
from treadle.checks.environment import program_of
from treadle.code import CodeIndex
from treadle.config.model import ApprovalSettings, EditSettings
from treadle.edits.proposal_store import ProposalStore
from treadle.edits.service import Edits
from treadle.events.types import ApprovalScope
from treadle.protected_files import why_protected
from treadle.repository_identity import consent_identity, identity
from treadle.tools.approvals.grants import Grant, GrantStore
from treadle.tools.approvals.question import Policy, Program, Subject
from treadle.tools.approvals.rules import ResolvedSubject, Rules


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    root = tmp_path / "repository"
    root.mkdir()
    store = ProposalStore.open(tmp_path / "proposals.db")
    with CodeIndex.open(root, cache_dir=tmp_path / "cache") as index:
        yield Bench(root, index, Edits(root, store))
    store.close()


PROTECTED = [
    ".treadle/config.toml", ".gitignore", "sub/.treadleignore", ".github/workflows/ci.yml",
    ".husky/pre-commit", ".githooks/pre-push", "Makefile", "web/package.json", "conftest.py",
    ".vscode/tasks.json", ".pre-commit-config.yaml", "Dockerfile.dev", "build.gradle.kts",
    ".treadle./config.toml", ".trea\u200cdle/config.toml", "\uff2dakefile", "mypy.ini",
    ".flake8", "pylintrc", "Cargo.toml", "go.mod", "rust-toolchain.toml", ".rspec", "deno.json",
    ".gitea/workflows/ci.yml", ".cirrus.yml", "uv.lock", ".rgignore", ".mocharc.json", ".zshenv",
    ".codex/config.toml", "x.gradle", "SConstruct", "package-lock.json", ".lfsconfig",
    ".TREADLE/Config.toml", "pyproject.toml", "Jenkinsfile", ".envrc.example/../Makefile",
]  # fmt: skip


@pytest.mark.parametrize("path", PROTECTED)
def test_automatic_approval_never_covers_protected_files(bench: Bench, path: str) -> None:
    bench.settings = EditSettings(auto_approve=("**", "**/*.toml"))
    bench.rules = ApprovalSettings(allow=("*", "* path=**", f"create_file path={path}"))
    bench.person = None
    (bench.root / ".envrc.example").mkdir()
    assert bench.ok("create_file", path=path, content="x\n")["state"] == "staged"
    assert bench.ok("create_file", path="src/a.md", content="x\n")["state"] == "applied"


def test_permanent_approval_still_asks_for_protected_files(bench: Bench) -> None:
    bench.write("Makefile", "a:\n")
    bench.person = lambda _question: (ApprovalScope.ALWAYS, None)
    for old, new in (("a:", "b:"), ("b:", "c:")):
        bench.edit({"file": "Makefile", "replace": {"old": old, "new": new}})
    assert len(bench.questions) == 2
    assert "always needs approval" in bench.questions[0].reason


@pytest.mark.parametrize(
    "path", ["src/main.py", "docs/ci.md", "README.md", "lib/maker.py", "a.toml", "...", "a. b"]
)
def test_ordinary_files_are_not_protected(path: str) -> None:
    assert why_protected(path) is None


def program(root: Path, name: str, text: str = "#!/bin/sh\n") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_a_program_inside_the_repository_is_identified_by_its_content(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    own = program(root, ".venv/bin/ruff")
    outer = program(tmp_path, "bin/ruff")
    inside = {"PATH": f"{own.parent}:{outer.parent}"}
    first = program_of("ruff", root, inside)
    assert first is not None
    assert (first.path, first.inside) == (".venv/bin/ruff", True)
    own.write_text("#!/bin/sh\nevil\n")
    second = program_of("ruff", root, inside)
    assert second is not None
    assert second.digest != first.digest
    outside = program_of("ruff", root, {"PATH": str(outer.parent)})
    assert outside is not None
    assert outside == Program(str(outer), inside=False, environment=outside.environment)
    loading = program_of("ruff", root, {"PATH": str(outer.parent), "LD_PRELOAD": "/tmp/x.so"})
    assert loading is not None
    assert loading.environment != outside.environment
    (root / "link").symlink_to(outer)
    linked = program_of("./link", root, {})
    assert linked is not None
    assert linked.inside


def test_a_rule_for_a_program_does_not_cover_one_inside_the_repository(tmp_path: Path) -> None:
    rules = Rules(ApprovalSettings(allow=("run_check command=ruff *",)))
    elsewhere = Subject(command="ruff check", program=Program("/usr/bin/ruff", inside=False))
    own = Subject(command="ruff check", program=Program(".venv/bin/ruff", inside=True))
    for subject, policy in ((elsewhere, Policy.ALLOW), (own, Policy.ASK)):
        place = ResolvedSubject.of(subject, tmp_path)
        assert rules.verdict("run_check", place, Policy.ASK).policy is policy


def test_a_grant_covers_one_program_and_one_repository(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    root.mkdir()
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    store = GrantStore(tmp_path / "approvals.db")
    grant = Grant.of("run_check", "", "ruff check", Program("x/ruff", inside=True, digest="1"))
    assert store.list_grants(root) == []
    store.remember(root, [grant], 1)
    assert [each.grant for each in store.list_grants(root)] == [grant]
    other = Grant.of("run_check", "", "ruff check", Program("x/ruff", inside=True, digest="2"))
    assert other not in {each.grant for each in store.list_grants(root)}
    shutil.rmtree(root)
    root.mkdir()
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    assert store.list_grants(root) == []
    assert store.revoke(root) == 1


def test_an_id_is_shared_by_work_trees_and_not_by_clones(tmp_path: Path) -> None:
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@example.org"]
    root, tree, clone = (tmp_path / name for name in ("repo", "tree", "clone"))
    subprocess.run([*git, "init", "-q", str(root)], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "a"], cwd=root, check=True)
    made = identity(root, create=True)
    assert identity(root) == made
    subprocess.run([*git, "worktree", "add", "-q", str(tree)], cwd=root, check=True)
    assert identity(tree) == made
    subprocess.run([*git, "clone", "-q", str(root), str(clone)], check=True)
    assert identity(clone) is None
    plain = tmp_path / "plain"
    plain.mkdir()
    assert identity(plain)
    odd = tmp_path / "odd"
    odd.mkdir()
    os.mkfifo(odd / ".git")
    assert identity(odd)


def test_a_folder_that_replaces_a_removed_one_has_no_consent(tmp_path: Path) -> None:
    """On many file systems it has the same inode."""
    root = tmp_path / "plain"
    store = GrantStore(tmp_path / "approvals.db")
    grant = Grant.of("run_check", "", "ruff check", Program("/usr/bin/ruff", inside=False))
    root.mkdir()
    if repository_identity._birth_ns(root) is None:
        pytest.skip("the file system does not show when a folder was made")
    store.remember(root, [grant], 1)
    (root / "new.py").write_text("x = 1\n")
    assert [each.grant for each in store.list_grants(root)] == [grant]
    for _ in range(3):
        shutil.rmtree(root)
        root.mkdir()
        assert store.list_grants(root) == []


def test_a_git_file_of_another_repository_has_no_consent(
    tmp_path: Path,
) -> None:
    root, backup, tree = (tmp_path / name for name in ("repo", "repo.bak", "tree"))
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@example.org"]
    subprocess.run([*git, "init", "-q", str(root)], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "a"], cwd=root, check=True)
    subprocess.run([*git, "worktree", "add", "-q", str(tree)], cwd=root, check=True)
    store = GrantStore(tmp_path / "approvals.db")
    grant = Grant.of("run_check", "", "ruff check", Program("/usr/bin/ruff", inside=False))
    for each in (root, tree):
        store.remember(each, [grant], 1)
        assert [kept.grant for kept in store.list_grants(each)] == [grant]
    root.rename(backup)
    root.mkdir()
    (root / ".git").write_text("gitdir: ../repo.bak/.git\n")
    assert store.list_grants(root) == []
    (root / ".git").write_text("gitdir: ../repo.bak/.git/worktrees/tree\n")
    assert store.list_grants(root) == []


def test_a_submodule_keeps_its_consent(tmp_path: Path) -> None:
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@example.org"]
    git += ["-c", "protocol.file.allow=always"]
    for each in (inner, outer):
        subprocess.run([*git, "init", "-q", str(each)], check=True)
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "a"], cwd=each, check=True)
    subprocess.run([*git, "submodule", "--quiet", "add", str(inner), "sub"], cwd=outer, check=True)
    found = consent_identity(outer / "sub", create=True)
    assert found is not None
    assert found.startswith("git:")


def test_grants_that_name_only_a_path_are_not_valid(tmp_path: Path) -> None:
    path = tmp_path / "approvals.db"
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TABLE grants (id INTEGER PRIMARY KEY, root TEXT, tool TEXT, path TEXT,"
            " command TEXT, granted_us INTEGER)"
        )
        connection.execute(
            "INSERT INTO grants VALUES (1, ?, 'run_check', '', 'x', 1)", (str(tmp_path),)
        )
    connection.close()
    assert GrantStore(path).list_grants(tmp_path) == []
