"""After any changes of a tree between queries, the index equals a rebuilt one."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.code.contents import contents
from treadle.code import CodeIndex, ContextEntry, View
from treadle.code.files.walk import read_file, walk
from treadle.code.snippets import parse_snippets
from treadle.code.storage import refresh

PATHS = ("a.py", "b.py", "pkg/a.py", "pkg/sub/c.py", "d.ts", "notes.md", "pkg")
WORDS = ("spindle", "shuttle", "bobbin", "heddle")
paths = st.sampled_from(PATHS)
words = st.sampled_from(WORDS)
QUERIES = (*WORDS, "where is the bobbin wound", "pkg")


def text_for(path: str, word: str) -> str:
    """Texts of one size for each path, so that they differ only in their bytes."""
    word = word.ljust(8, "x")
    if path.endswith(".ts"):
        return f"export function {word}() {{ return '{word}'; }}\n"
    return f"def {word}():\n    return '{word}'\n"


class Tree(RuleBasedStateMachine):
    """A git tree that changes at random, its index, and a rebuilt index to compare with."""

    @initialize()
    def make(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.root = self.folder / "tree"
        self.root.mkdir()
        self.git("init", "-q", "-b", "one")
        self.write("a.py", "spindle")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "x")
        self.git("branch", "two")
        self.index = CodeIndex.open(self.root, cache_dir=self.folder / "cache")
        self.count = 0

    def git(self, *arguments: str) -> None:
        names = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "core.hooksPath=")
        subprocess.run(
            ["git", *names, "-C", str(self.root), *arguments], check=False, capture_output=True
        )

    def teardown(self) -> None:
        self.index.close()
        shutil.rmtree(self.folder)

    @rule(path=paths)
    def delete(self, path: str) -> None:
        place = self.root / path
        if place.is_dir():
            shutil.rmtree(place)
        elif place.is_file():  # a part of the path may have become a file
            place.unlink()

    def clear(self, path: str) -> Path:
        """Remove files and folders at the path of a new file."""
        place = self.root / path
        for above in place.relative_to(self.root).parents:
            if (self.root / above).is_file():
                (self.root / above).unlink()
        self.delete(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    @rule(path=paths, word=words)
    def write(self, path: str, word: str) -> None:
        self.clear(path).write_text(text_for(path, word))

    @rule(path=paths, word=words)
    def write_with_the_same_size_and_time(self, path: str, word: str) -> None:
        place = self.root / path
        if place.is_file():
            status = place.stat()
            place.write_text(text_for(path, word))
            os.utime(place, ns=(status.st_atime_ns, status.st_mtime_ns))

    @rule(path=paths, word=words)
    def replace_by_rename(self, path: str, word: str) -> None:
        other = self.root.parent / "new"
        other.write_text(text_for(path, word))
        os.utime(other, ns=(1, 1))
        other.replace(self.clear(path))

    @rule(path=paths, to=paths)
    def rename(self, path: str, to: str) -> None:
        place = self.root / path
        if place.exists() and not to.startswith(path) and not path.startswith(to):
            place.rename(self.clear(to))

    @rule(path=paths, when=st.sampled_from([0, 1, 2**31]))
    def touch(self, path: str, when: int) -> None:
        if (self.root / path).exists():
            os.utime(self.root / path, (when, when))

    @rule(
        name=st.sampled_from([".gitignore", ".treadleignore", ".git/info/exclude"]),
        lines=st.lists(st.sampled_from(["*.py", "!a.py", "pkg/", "/b.py", "sub"]), max_size=3),
    )
    def ignore(self, name: str, lines: list[str]) -> None:
        (self.root / name).write_text("\n".join(lines))

    @rule(branch=st.sampled_from(["one", "two"]))
    def commit_and_switch(self, branch: str) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "x")
        self.git("checkout", "-q", branch)

    @rule(query=st.sampled_from(QUERIES))
    def context_without_a_refresh(self, query: str) -> None:
        """A shown snippet is on disk, even if the index was not refreshed after a change."""
        self.check_snippets(query)

    @rule()
    def refresh(self) -> None:
        self.index.refresh()

    def check_snippets(self, query: str) -> None:
        def all_of_them(_entries: Sequence[ContextEntry], _omitted: int) -> bool:
            return True

        for entry in self.index.context(query, top_k=10, fits=all_of_them).entries:
            (snippet,) = parse_snippets(entry.snippet)
            data = Path(snippet.path).read_bytes()
            assert data[snippet.start : snippet.end] == snippet.content.encode()

    @precondition(lambda self: hasattr(self, "index"))
    @invariant()
    def is_as_if_made_anew(self) -> None:
        self.count += 1
        if self.count % 4:
            return
        self.index.refresh()
        assert self.index.status().fresh
        with CodeIndex.open(self.root, cache_dir=self.folder / f"cache{self.count}") as anew:
            anew.refresh()
            for query in QUERIES:
                for view in View:
                    ours = self.index.search(query, view=view)
                    theirs = anew.search(query, view=view)
                    assert ours.results == theirs.results
                    assert (ours.files, ours.items) == (theirs.files, theirs.items)
        assert contents(self.root, self.folder / "cache") == contents(
            self.root, self.folder / f"cache{self.count}"
        )
        for entry in walk(self.root):
            assert self.index.files_summary(entry.path) is not None
        for query in QUERIES:
            self.check_snippets(query)


FEW = settings(
    max_examples=20,
    stateful_step_count=16,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestTree = Tree.TestCase
TestTree.settings = FEW


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_index_follows_random_changes() -> None:
    run_state_machine_as_test(Tree, settings=settings(FEW, max_examples=300))


def test_change_with_equal_size_and_time_is_detected(tmp_path: Path) -> None:
    """The index is written within one tick of the clock, and somebody turns the time back."""
    root = tmp_path / "tree"
    root.mkdir()
    place = root / "a.py"
    with CodeIndex.open(root, cache_dir=tmp_path / "cache") as index:
        for word in WORDS * 3:
            place.write_text(text_for("a.py", word))
            os.utime(place, ns=(1, 1))
            index.refresh()
            assert index.search(word.ljust(8, "x")).results[0].name == word.ljust(8, "x")


def test_an_unchanged_file_is_read_again_only_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "tree"
    root.mkdir()
    (root / "a.py").write_text("def spindle(): pass\n")
    reads: list[str] = []

    def counted(root: Path | str, path: str) -> tuple[bytes | None, os.stat_result]:
        reads.append(path)
        return read_file(root, path)

    monkeypatch.setattr(refresh, "read_file", counted)
    clock = time.time_ns
    with CodeIndex.open(root, cache_dir=tmp_path / "cache") as index:
        index.refresh()
        monkeypatch.setattr(time, "time_ns", lambda: clock() + 3_000_000_000)
        assert index.refresh().changed == 0
        assert reads == ["a.py"]
        assert index.refresh().changed == 0
        assert reads == ["a.py"]


SEARCH = """
import sys
before = set(sys.modules)
from pathlib import Path
from treadle.code import CodeIndex
with CodeIndex.open(
    Path(sys.argv[1]), cache_dir=Path(sys.argv[2]), history=lambda: True
) as index:
    index.refresh()
    assert index.search("spindle").results
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before}))
print(*sorted(name for name in set(sys.modules) - before if name.startswith("treadle.code.")))
"""
HEAVY = {
    "argparse", "asyncio", "ast", "concurrent", "dataclasses", "inspect", "json", "logging",
    "multiprocessing", "numpy", "pydantic", "subprocess", "tree_sitter",
}  # fmt: skip


def test_search_without_changes_imports_few_modules(tmp_path: Path) -> None:
    """Most of what a search takes as a process is loading modules; these it does without."""
    root = tmp_path / "tree"
    root.mkdir()
    (root / "a.py").write_text("def spindle(): pass\n")
    os.utime(root / "a.py", (1, 1))
    (root / ".gitignore").write_text("*.pyc\nbuild/\n/dist\n")
    command = [sys.executable, "-I", "-c", SEARCH, str(root), str(tmp_path / "cache")]
    subprocess.run(command, check=True, capture_output=True)
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    loaded, ours = (set(line.split()) for line in done.stdout.splitlines())
    assert not loaded & HEAVY
    assert ours == {
        f"treadle.code.{name}"
        for name in (
            "files", "files.git", "files.ignore", "files.walk", "history", "history.head",
            "history.tables", "history.update", "index", "model", "retrieval", "retrieval.hits",
            "retrieval.item_ranking", "retrieval.lexical", "retrieval.notes", "retrieval.query",
            "storage", "storage.postings", "storage.refresh", "storage.store", "terms",
        )
    }  # fmt: skip
