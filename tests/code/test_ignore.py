"""Ignore rules, compared with git's own verdict."""

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from treadle.code.files.walk import IgnoreRules, walk


def git_ignored(root: Path, paths: list[str]) -> set[str]:
    """What `git check-ignore` says (it takes the rules of parent folders into account)."""
    done = subprocess.run(
        ["git", "-C", str(root), "check-ignore", "--no-index", "-z", "--stdin"],
        input="\0".join(paths).encode(),
        capture_output=True,
        check=False,
    )
    return {path for path in done.stdout.decode().split("\0") if path}


@pytest.fixture(autouse=True)
def no_rules_of_the_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)


def make_tree(root: Path) -> list[str]:
    files = ["a", "b.py", "x/a", "x/b.py", "x/y/a", "x/y/b.py", "x/y/z/c", "y/a", "y/x/b.py", "ab"]
    for name in files:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    return files


pieces = st.sampled_from(
    [
        "a",
        "b",
        "x",
        "y",
        "z",
        "*",
        "**",
        "/",
        "/",
        "?",
        ".py",
        "[ab]",
        "[!a]",
        "[a-",
        "]",
        "\\",
        " ",
        "!",
        "#",
        "[[:alpha:]]",
        "[^x/]",
        "c",
    ]
)
# git treats `a**/b` as `a` + `**/b` when the literal head is stripped, against its own manual.
patterns = st.lists(pieces, min_size=1, max_size=6).map("".join)
lines = st.lists(
    patterns.filter(lambda line: not re.search(r"[^/]\*\*|\*\*[^/]", line)), max_size=4
)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    root = tmp_path_factory.mktemp("ignore")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root, make_tree(root)


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(top=lines, below=lines)
def test_ignored_paths_equal_those_of_git(
    repository: tuple[Path, list[str]], top: list[str], below: list[str]
) -> None:
    root, files = repository
    (root / ".gitignore").write_text("\n".join(top) + "\n")
    (root / "x/.gitignore").write_text("\n".join(below) + "\n")
    rules = IgnoreRules(root)
    ours = {path for path in files if rules.ignored(path, is_dir=False)}
    assert ours == git_ignored(root, files)
    walked = {entry.path for entry in walk(root)} - {".gitignore", "x/.gitignore"}
    assert walked & set(files) == set(files) - ours


def test_treadleignore_overrides_other_ignore_files(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / ".treadleignore").write_text("!keep.log\nvendor/\n")
    rules = IgnoreRules(tmp_path)
    assert rules.ignored("drop.log", is_dir=False)
    assert not rules.ignored("keep.log", is_dir=False)
    assert rules.ignored("deep/vendor/x.py", is_dir=False)


def test_rules_above_the_root_apply_up_to_the_git_root(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("outside\n")
    git_root = tmp_path / "repo"
    (git_root / ".git/info").mkdir(parents=True)
    (git_root / ".git/info/exclude").write_text("secret\n")
    (git_root / ".gitignore").write_text("/package/built\n")
    (git_root / "package").mkdir()
    rules = IgnoreRules(git_root / "package")
    assert rules.ignored("built", is_dir=True)
    assert rules.ignored("secret", is_dir=False)
    assert not rules.ignored("outside", is_dir=False)


def test_caches_are_ignored_without_git_unless_re_included(tmp_path: Path) -> None:
    assert IgnoreRules(tmp_path).ignored("node_modules/x/index.js", is_dir=False)
    (tmp_path / ".ignore").write_text("!node_modules/\n")
    assert not IgnoreRules(tmp_path).ignored("node_modules/x/index.js", is_dir=False)
    assert IgnoreRules(tmp_path).ignored(".git/config", is_dir=False)


@pytest.mark.parametrize("linked", [False, True])
def test_exclude_files_of_git_apply_in_the_order_of_git(tmp_path: Path, linked: bool) -> None:
    """The global file and `info/exclude`, also of the repository of a linked worktree."""
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b.c")
    root = tmp_path / "repo"
    subprocess.run([*git, "init", "-q", str(root)], check=True)
    subprocess.run([*git, "-C", root, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    (root / ".git/info/exclude").write_text("*.secret\n!kept.log\n")
    if linked:
        subprocess.run([*git, "-C", root, "worktree", "add", "-q", str(tmp_path / "w")], check=True)
        root = tmp_path / "w"
    files = ["a.secret", "b.log", "kept.log", "c.tmp", "d.bak", "e.py"]

    def agreed() -> set[str]:
        rules = IgnoreRules(root)
        ours = {path for path in files if rules.ignored(path, is_dir=False)}
        assert ours == git_ignored(root, files)
        return ours

    (tmp_path / ".config/git").mkdir(parents=True)
    (tmp_path / ".config/git/ignore").write_text("*.log\n")
    assert agreed() == {"a.secret", "b.log"}
    config = '[user]\n\tname = x\n[Core]\n\teditor = vi\n\texcludesFile = "~/my ignores" ; mine\n'
    (tmp_path / ".gitconfig").write_text(config)
    (tmp_path / "my ignores").write_text("*.tmp\n")
    assert agreed() == {"a.secret", "c.tmp"}
    subprocess.run([*git, "-C", root, "config", "core.excludesfile", ".own"], check=True)
    (root / ".own").write_text("*.bak\n")
    assert agreed() == {"a.secret", "d.bak"}
