"""Git history as a signal: what is read of it, how it follows HEAD, and what it is asked."""

import os
import random
import sqlite3
import stat
import subprocess
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treadle.code import CodeIndex
from treadle.code.history import commits as git_module
from treadle.code.history import update
from treadle.code.history.file_history import FilePast, History
from treadle.code.history.update import update_history
from treadle.code.storage.store import Store, store_path
from treadle.code.terms import query_terms

NO_CONFIG = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
PERSON = (
    "-c", "user.name=Zacharias Quux", "-c", "user.email=quux@example.com",
    "-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main",
)  # fmt: skip


def git(root: Path, *arguments: str, given: bytes = b"") -> str:
    done = subprocess.run(
        ["git", *PERSON, *arguments], cwd=root, check=True, input=given, capture_output=True,
        env=os.environ | NO_CONFIG,
    )  # fmt: skip
    return done.stdout.decode().strip()


def commit(root: Path, message: str | bytes, *paths: str) -> None:
    """Change the files at `paths` and commit them."""
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        with (root / path).open("a") as file:
            file.write(f"def f{random.randrange(10**9)}(): return 1\n")
    git(root, "add", "-A", ".")
    text = message if isinstance(message, bytes) else message.encode()
    git(root, "commit", "-q", "--allow-empty", "-F", "-", given=text)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository whose first commit adds four files."""
    root = tmp_path / "root"
    root.mkdir()
    git(root, "init", "-q")
    commit(root, "start", "a.py", "b.py", "c.py", "d.py")
    return root


class Asked:
    """An index with history, asked by path."""

    def __init__(self, root: Path, cache: Path, *, history: bool = True) -> None:
        self._cache, self._root = cache, root
        self.index = CodeIndex.open(root, cache_dir=cache, history=lambda: history)

    def past(self, query: str = "", best: Iterable[str] = ()) -> dict[str, FilePast]:
        """What history says of every file, after a refresh."""
        self.index.refresh()
        return self.stored(query, best)

    def stored(self, query: str = "", best: Iterable[str] = ()) -> dict[str, FilePast]:
        with closing(sqlite3.connect(store_path(self._cache, self._root.resolve()))) as connection:
            return past_of_all(connection, query, best)


def past_of_all(
    connection: sqlite3.Connection, query: str, best: Iterable[str] = ()
) -> dict[str, FilePast]:
    rows = connection.execute("SELECT id, path FROM files").fetchall()
    paths = {file_id: os.fsdecode(path) for file_id, path in rows}
    ids = {path: file_id for file_id, path in paths.items()}
    found = History.read(connection).past_of(
        connection, query_terms(query), paths, [ids[path] for path in best]
    )
    return {paths[file_id]: past for file_id, past in found.items()}


@pytest.fixture
def asked(root: Path, tmp_path: Path) -> Asked:
    return Asked(root, tmp_path / "cache")


def test_commits_and_age_of_a_file_are_counted(root: Path, asked: Asked) -> None:
    commit(root, "one", "a.py")
    commit(root, "two", "a.py", "b.py")
    commit(root, "three", "c.py")
    past = asked.past()
    assert {path: each[:2] for path, each in past.items()} == {
        "a.py": (2, 1), "b.py": (1, 1), "c.py": (1, 0),
    }  # fmt: skip


def test_messages_find_the_file_that_their_commits_changed(root: Path, asked: Asked) -> None:
    commit(root, "Retry the upload\n\nThe socket was closed by a proxy.", "a.py")
    commit(root, "Rename a variable", "b.py")
    past = asked.past("proxy closes sockets")
    assert past["a.py"].messages > 0
    assert past["b.py"].messages == 0


def test_messages_find_further_files(root: Path, asked: Asked) -> None:
    commit(root, "Retry the upload", "a.py")
    commit(root, "Retry the upload", "gone.py")
    (root / "gone.py").unlink()
    commit(root, "Remove it")
    asked.index.refresh()
    with asked.index._store.reading() as connection:
        found = History.read(connection).past_of(connection, {"upload": 1.0}, [], [])
        names = {
            os.fsdecode(path): found[file_id].messages
            for file_id, path in connection.execute("SELECT id, path FROM files")
            if file_id in found
        }
    assert list(names) == ["a.py"]


def test_together_is_the_cosine_with_the_best_files(root: Path, asked: Asked) -> None:
    for _ in range(2):
        commit(root, "both", "a.py", "b.py")
    for _ in range(2):
        commit(root, "one", "a.py")
    commit(root, "other", "c.py")
    past = asked.past(best=["a.py"])
    assert past["b.py"].together == pytest.approx(2 / (4 * 2) ** 0.5)
    assert past["c.py"].together == past["a.py"].together == 0


def test_large_commits_are_ignored(root: Path, asked: Asked) -> None:
    commit(root, "reformat", "a.py", *(f"many/{number}.py" for number in range(30)))
    assert asked.past("reformat") == {}


def test_merge_brings_the_commits_of_its_branch(root: Path, asked: Asked) -> None:
    git(root, "checkout", "-q", "-b", "side")
    commit(root, "Improve the parser", "a.py")
    git(root, "checkout", "-q", "main")
    commit(root, "main work", "b.py")
    assert set(asked.past()) == {"b.py"}
    git(root, "merge", "-q", "side", "-m", "Merge side")
    assert {path: each.commits for path, each in asked.past().items()} == {"a.py": 1, "b.py": 1}


def test_renamed_file_has_a_new_history(root: Path, asked: Asked) -> None:
    commit(root, "one", "a.py")
    git(root, "mv", "a.py", "moved.py")
    commit(root, "move")
    past = asked.past()
    assert past["moved.py"][:2] == (1, 0)
    assert "a.py" not in past


def test_a_restored_file_has_its_history(root: Path, asked: Asked) -> None:
    commit(root, "one", "a.py")
    (root / "a.py").rename(root / "away")
    assert "a.py" not in asked.past()
    (root / "away").rename(root / "a.py")
    assert asked.past()["a.py"].commits == 1


def test_messages_that_are_not_text_are_read(root: Path, asked: Asked) -> None:
    name = os.fsdecode(b"caf\xe9.py")
    git(root, "config", "i18n.commitEncoding", "ISO-8859-1")
    commit(root, "start", name)
    commit(root, b"Repair the caf\xe9 \xff counter", name)
    past = asked.past("counter café")
    assert past[name].commits == 2
    assert past[name].messages > 0


def test_root_below_the_top_has_the_history_of_its_files(root: Path, tmp_path: Path) -> None:
    commit(root, "one", "lib/x.py", "a.py")
    commit(root, "two", "lib/x.py")
    commit(root, "three", "library/x.py")
    assert Asked(root / "lib", tmp_path / "cache").past() == {"x.py": FilePast(2, 1, 0.0, 0.0)}


def test_rewritten_history_replaces_the_old(root: Path, asked: Asked) -> None:
    commit(root, "Wrong idea", "a.py")
    assert asked.past("idea")["a.py"].messages > 0
    git(root, "reset", "-q", "--hard", "HEAD^")
    commit(root, "Better plan", "b.py")
    past = asked.past("idea")
    assert set(past) == {"b.py"}
    assert past["b.py"].messages == 0


def test_linked_work_tree_has_the_history_of_its_head(root: Path, tmp_path: Path) -> None:
    commit(root, "one", "a.py")
    git(root, "worktree", "add", "-q", str(tmp_path / "linked"), "-b", "other")
    commit(tmp_path / "linked", "two", "b.py")
    assert set(Asked(root, tmp_path / "cache").past()) == {"a.py"}
    assert set(Asked(tmp_path / "linked", tmp_path / "cache").past()) == {"a.py", "b.py"}


def test_submodule_has_its_own_history(root: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "-q")
    commit(root, "one", "a.py")
    git(project, "submodule", "add", "-q", str(root), "library")
    commit(project, "add the library")
    assert set(Asked(project / "library", tmp_path / "cache").past()) == {"a.py"}
    assert Asked(project, tmp_path / "cache").past() == {}


def test_packed_refs_and_a_detached_head_are_read(root: Path, asked: Asked) -> None:
    commit(root, "one", "a.py")
    git(root, "pack-refs", "--all")
    git(root, "gc", "-q")
    assert set(asked.past()) == {"a.py"}
    git(root, "checkout", "-q", "--detach", "HEAD^")
    assert asked.past() == {}


def test_shallow_clone_has_the_history_of_its_commits(root: Path, tmp_path: Path) -> None:
    for path in ("a.py", "b.py", "c.py"):
        commit(root, f"change {path}", path)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth", "2", f"file://{root}", "clone")
    asked = Asked(clone, tmp_path / "cache")
    assert set(asked.past()) == {"c.py"}
    git(clone, "fetch", "-q", "--unshallow")
    assert set(asked.past()) == {"a.py", "b.py", "c.py"}


def test_partial_clone_fetches_nothing(root: Path, tmp_path: Path) -> None:
    commit(root, "one", "a.py")
    git(root, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=tree:0", "--no-checkout", f"file://{root}", "clone")
    clone = tmp_path / "clone"
    (clone / "a.py").write_text("def f(): return 1\n")
    before = objects_of(clone)
    assert Asked(clone, tmp_path / "cache").past() == {}
    assert objects_of(clone) == before


def objects_of(root: Path) -> set[Path]:
    return {path for path in (root / ".git" / "objects").rglob("*") if path.is_file()}


def test_reading_history_does_not_run_or_write_repository_files(root: Path, tmp_path: Path) -> None:
    commit(root, "one", "a.py")
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    program.chmod(stat.S_IRWXU)
    for key in (
        "core.fsmonitor", "core.pager", "pager.log", "pager.rev-list", "gpg.program",
        "core.sshCommand", "diff.external", "core.editor", "alias.log", "alias.rev-list",
        "core.alternateRefsCommand", "filter.x.clean", "diff.x.textconv",
    ):  # fmt: skip
        git(root, "config", key, f"!{program}" if key.startswith("alias") else str(program))
    git(root, "config", "log.showSignature", "true")
    git(root, "config", "diff.orderFile", "/dev/stdin")
    git(root, "config", "core.hooksPath", str(tmp_path))
    signed = git(root, "cat-file", "commit", "HEAD").replace(
        "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n", 1
    )
    identifier = git(
        root, "hash-object", "-t", "commit", "-w", "--stdin", given=f"{signed}\n".encode()
    )
    (root / ".git" / "refs" / "heads" / "main").write_text(f"{identifier}\n")
    before = {path: path.stat().st_mtime_ns for path in (root / ".git").rglob("*")}
    assert set(Asked(root, tmp_path / "cache").past()) == {"a.py"}
    assert not ran.exists()
    assert {path: path.stat().st_mtime_ns for path in (root / ".git").rglob("*")} == before


@pytest.mark.parametrize(
    "head",
    ["ref: refs/heads/none", "ref: ../../outside", "ref: refs/../../outside", "ref: HEAD", "x", ""],
)
def test_a_head_without_a_commit_has_no_history(root: Path, asked: Asked, head: str) -> None:
    commit(root, "one", "a.py")
    (root / "outside").write_text(git(root, "rev-parse", "HEAD"))
    assert asked.past()
    (root / ".git" / "HEAD").write_text(head)
    assert asked.past() == {}


def test_a_missing_commit_has_no_history(root: Path, asked: Asked) -> None:
    (root / ".git" / "refs" / "heads" / "main").write_text("1" * 40)
    assert asked.past() == {}


def test_tree_without_git_has_no_history(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "a.py").write_text("def f(): return 1\n")
    assert Asked(tmp_path / "tree", tmp_path / "cache").past() == {}


def test_missing_git_program_leaves_the_index_without_history(
    root: Path, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(root, "one", "a.py")
    with monkeypatch.context() as without:
        without.setenv("PATH", "/nowhere")
        assert asked.past() == {}
    assert set(asked.past()) == {"a.py"}


def test_disabled_history_is_deleted(root: Path, tmp_path: Path) -> None:
    commit(root, "one", "a.py")
    assert Asked(root, tmp_path / "cache").past()
    assert Asked(root, tmp_path / "cache", history=False).past() == {}


def test_long_output_drops_the_oldest_commits(
    root: Path, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(root, "x" * 5_000, "a.py")
    commit(root, "short", "b.py")
    monkeypatch.setattr(git_module, "_MAX_BYTES", 2_000)
    assert set(asked.past()) == {"b.py"}


def test_unchanged_head_starts_no_process(
    root: Path, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(root, "one", "a.py")
    before = asked.past()

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("git is started")

    monkeypatch.setattr(subprocess, "Popen", refused)
    assert asked.past() == before


def test_each_refresh_reads_older_commits(
    root: Path, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ("a.py", "b.py", "c.py"):
        commit(root, f"change {path}", path)
    monkeypatch.setattr(CodeIndex._read_history, "__defaults__", (2,))
    assert set(asked.past()) == {"b.py", "c.py"}
    assert set(asked.past()) == {"a.py", "b.py", "c.py"}


def test_complete_history_reads_the_whole_window(root: Path, asked: Asked) -> None:
    for number in range(3):
        commit(root, "change", f"{number}.py")
    asked.index.refresh()
    asked.index.complete_history()
    assert asked.stored()["0.py"].age == 2


def test_names_of_people_are_not_stored(root: Path, asked: Asked) -> None:
    commit(
        root,
        "Repair the counter\n\nThanks to Wilhelmina <wilhelmina@example.org>\n"
        "Signed-off-by: Ottokar Someone\nCc: Balthasar",
        "a.py",
    )
    for name in ("Zacharias", "quux", "Wilhelmina", "Ottokar", "Balthasar"):
        assert asked.past(name)["a.py"].messages == 0
    assert asked.past("counter")["a.py"].messages > 0


# One commit: how many commits before it its parents are, its date, its files, and its message.
COMMITS = st.lists(
    st.tuples(
        st.lists(st.integers(1, 4), max_size=2, unique=True),
        st.integers(1, 12),
        st.sets(st.sampled_from("abcde"), max_size=3),
        st.sampled_from(["fix parser", "retry upload", "upload cache", "parser cache fix"]),
    ),
    min_size=2,
    max_size=25,
)


def imported(root: Path, commits: Iterable[tuple[list[int], int, set[str], str]]) -> list[str]:
    """Make commits in one process; returns their ids."""
    stream: list[str] = []
    for number, (parents, date, files, message) in enumerate(commits):
        stream += [
            f"commit refs/heads/c{number}", f"mark :{number + 1}",
            f"committer a <a@example.com> {date * 100} +0000", f"data {len(message)}", message,
        ]  # fmt: skip
        known = [number + 1 - back for back in parents if back <= number]
        stream += [f"{'merge' if at else 'from'} :{parent}" for at, parent in enumerate(known)]
        for name in sorted(files):
            stream += [f"M 100644 inline {name}.py", "data 3", f"{number:03}"]
        stream.append("")
    git(root, "fast-import", "--quiet", given="\n".join(stream).encode())
    names = [line.split("/")[-1] for line in stream if line.startswith("commit ")]
    return git(root, "rev-parse", *names).split()


@settings(deadline=None, max_examples=15)
@given(
    commits=COMMITS, moves=st.lists(st.tuples(st.integers(0, 24), st.integers(1, 9)), max_size=6)
)
def test_history_is_independent_of_the_order_of_reading(
    tmp_path_factory: pytest.TempPathFactory,
    commits: list[tuple[list[int], int, set[str], str]],
    moves: list[tuple[int, int]],
) -> None:
    root = tmp_path_factory.mktemp("root")
    git(root, "init", "-q")
    ids = imported(root, commits)
    for name in "abcde":
        (root / f"{name}.py").write_text("def f(): return 1\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(update, "WINDOW", 8)
        patch.setattr(update, "MAX_NUMBER", 20)
        stores = []
        for name in ("moved", "once"):
            cache = root.with_name(f"{root.name}-{name}")
            with CodeIndex.open(root, cache_dir=cache) as index:
                index.refresh()
            stores.append(Store(store_path(cache, root.resolve())))
        moved, once = stores
        for at, most in moves:
            (root / ".git" / "HEAD").write_text(ids[at % len(ids)])
            update_history(root, moved, most=most)
        (root / ".git" / "HEAD").write_text(ids[-1])
        while update_history(root, moved, most=3):
            pass
        update_history(root, once, most=8)
        found = []
        for store in stores:
            with store.reading() as connection:
                found.append(past_of_all(connection, "fix the cache of uploads", ["a.py", "c.py"]))
            store.close()
    assert found[0] == found[1]
