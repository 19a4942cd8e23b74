"""The vectors of an index: how they are computed and renewed, and how a search uses them."""

import logging
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.code.contents import contents
from tests.code.test_killed import change
from tests.fakes.embedding import write_embedding
from treadle.code import CodeIndex, View
from treadle.code.storage.store import store_path

TERMS = [
    "bobbin", "cone", "def", "load", "loom", "number", "other", "return", "self", "shuttl",
    "spindl", "test", "thread", "weav",
]  # fmt: skip
FILES = {
    "mill.py": "def spindle(cone):\n    return cone.turn()\n",
    "loom.py": "def shuttle(thread):\n    return thread.throw()\n",
    "shed.py": "def shelf(box):\n    return box.open()\n",
}
ALIKE = {"weav": "shuttl"}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_embedding(tmp_path_factory.mktemp("model") / "one", TERMS, alike=ALIKE)


@pytest.fixture(scope="module")
def other_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model") / "other"
    return write_embedding(folder, TERMS, seed=2, dimension=80)


def tree(root: Path, files: dict[str, str] = FILES) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def opened(root: Path, cache: Path, model: Path | None, patience: float | None = None) -> CodeIndex:
    static = None if model is None else lambda: model
    return CodeIndex.open(root, cache_dir=cache, static=static, patience=patience)


def built(root: Path, cache: Path, model: Path | None) -> None:
    with opened(root, cache, model) as index:
        index.refresh()


def test_vectors_find_items_without_a_common_word(tmp_path: Path, model: Path) -> None:
    root = tree(tmp_path / "root")
    with opened(root, tmp_path / "cache", model) as index:
        index.refresh()
        found = index.search("where do we weave")
        assert found.parts == ("lexical", "dense")
        assert found.results[0].name == "shuttle"
        assert [hit.name for hit in found.results] == [
            hit.name for hit in index.search("where do we weave").results
        ]
        assert index.search("where do we weave", view=View.FILES).results[0].file == "loom.py"
        assert not index.search("xylophones galore").results
    with opened(root, tmp_path / "cache", None) as index:
        assert not index.search("where do we weave").results


def test_tests_and_vendored_code_follow_similar_items(tmp_path: Path, model: Path) -> None:
    code = FILES["loom.py"]
    places = ("aaa/vendor/loom.py", "loom.py", "aaa/tests/loom.py")
    root = tree(tmp_path / "root", dict.fromkeys(places, code))
    with opened(root, tmp_path / "cache", model) as index:
        index.refresh()
        found = index.search("how to weave").results
    functions = [hit.file for hit in found if hit.name == "shuttle"]
    assert functions == ["loom.py", "aaa/tests/loom.py", "aaa/vendor/loom.py"]


def test_words_and_vectors_both_count(tmp_path: Path, model: Path) -> None:
    root = tree(tmp_path / "root")
    with opened(root, tmp_path / "cache", model) as index:
        index.refresh()
        found = index.search("open the box of the loom").results
        assert {"shelf", "shuttle"} <= {hit.name for hit in found}
        assert found[0].name in ("shelf", "loom", "shed")


def test_renewal_computes_the_same_vectors_without_reading_files(
    tmp_path: Path, model: Path
) -> None:
    root = tmp_path / "tree"
    root.mkdir()
    change(root, random.Random(3))
    built(root, tmp_path / "with", model)
    built(root, tmp_path / "without", None)
    assert not contents(root, tmp_path / "without")["vectors"]
    root.rename(tmp_path / "away")
    root.mkdir()
    with opened(root, tmp_path / "without", model) as index:
        assert index.search("the bobbin and the spindle").parts[-1] == "dense"
    assert contents(root, tmp_path / "without") == contents(root, tmp_path / "with")


def test_another_model_renews_only_vectors(tmp_path: Path, model: Path, other_model: Path) -> None:
    root = tree(tmp_path / "root")
    for turn, folder in enumerate((model, other_model, model)):
        with opened(root, tmp_path / "cache", folder) as index:
            report = index.refresh()
            assert report.added + report.changed == (0 if turn else len(FILES))
            assert index.search("where is the thread of the weaver").parts[-1] == "dense"
        built(root, tmp_path / f"anew{turn}", folder)
        assert contents(root, tmp_path / "cache") == contents(root, tmp_path / f"anew{turn}")


def test_an_answer_reports_how_many_vectors_it_used(tmp_path: Path, model: Path) -> None:
    root = tree(tmp_path / "root")
    built(root, tmp_path / "cache", None)
    path = store_path(tmp_path / "cache", root.resolve())
    with (
        opened(root, tmp_path / "cache", model, patience=0.0) as index,
        closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")  # so that nothing can be renewed
        found = index.search("where is the thread of the weaver")
        assert found.parts == ("lexical", f"dense: 0 of {found.items}")
        assert found.results
        other.execute("ROLLBACK")
    with opened(root, tmp_path / "cache", model) as index:
        assert index.search("where is the thread of the weaver").parts == ("lexical", "dense")


def test_concurrent_renewals_and_writes_complete(tmp_path: Path, model: Path) -> None:
    root = tmp_path / "tree"
    root.mkdir()
    change(root, random.Random(4))
    cache = tmp_path / "cache"
    built(root, cache, None)
    failures: list[BaseException] = []

    def search() -> None:
        try:
            with opened(root, cache, model) as index:
                index.search("the bobbin and the spindle")
        except BaseException as error:  # noqa: BLE001  (the test reports it)
            failures.append(error)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    change(root, random.Random(5))
    built(root, cache, None)
    for thread in threads:
        thread.join()
    assert not failures
    search()
    built(root, tmp_path / "anew", model)
    assert contents(root, cache) == contents(root, tmp_path / "anew")


RENEW = """
import sys
from pathlib import Path
from treadle.code import CodeIndex
from treadle.code.dense import item_vectors
item_vectors._FILES = 2
root, cache, model = map(Path, sys.argv[1:])
with CodeIndex.open(root, cache_dir=cache, static=lambda: model, patience=None) as index:
    print("open", flush=True)
    print(*index.search("the bobbin and the spindle").parts, flush=True)
"""


def renew_until_killed(seconds: float, *arguments: Path) -> bool:
    """Whether the process was still at it."""
    command = [sys.executable, "-c", RENEW, *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])
    assert process.stdout is not None
    with process.stdout:
        process.stdout.readline()
        time.sleep(seconds)
        process.kill()
        process.wait()
    return process.returncode < 0


def test_a_killed_renewal_loses_one_transaction(tmp_path: Path, model: Path) -> None:
    root = tmp_path / "tree"
    root.mkdir()
    chance = random.Random(6)
    for _ in range(4):
        change(root, chance)
    built(root, tmp_path / "plain", None)
    built(root, tmp_path / "anew", model)
    cut_short = 0
    for turn in range(4):
        cache = tmp_path / f"cache{turn}"
        shutil.copytree(tmp_path / "plain", cache)
        cut_short += renew_until_killed(chance.uniform(0.0, 0.3), root, cache, model)
        before = contents(root, cache)
        assert before["postings"] == contents(root, tmp_path / "plain")["postings"]
        with opened(root, cache, model) as index:
            assert index.search("the bobbin and the spindle").parts[-1] == "dense"
        after = contents(root, cache)
        assert after == contents(root, tmp_path / "anew")
        assert before["vectors"].items() <= after["vectors"].items()
    assert cut_short


def test_vectors_in_memory_equal_the_index_after_changes(tmp_path: Path, model: Path) -> None:
    root = tmp_path / "tree"
    root.mkdir()
    chance = random.Random(7)
    query = "a bobbin for the shuttle"
    with opened(root, tmp_path / "cache", model) as index:
        for turn in range(6):
            change(root, chance)
            index.refresh()
            with opened(root, tmp_path / "cache", model) as anew:
                assert index.search(query).results == anew.search(query).results, turn


def test_unreadable_model_disables_vectors_only(
    tmp_path: Path, model: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = tree(tmp_path / "root")
    broken = tmp_path / "broken"
    shutil.copytree(model, broken)
    (broken / "terms.txt").unlink()
    with caplog.at_level(logging.WARNING), opened(root, tmp_path / "cache", broken) as index:
        index.refresh()
        found = index.search("where is the box opened")
        index.search("where is the box opened")
    assert found.parts == ("lexical",)
    assert found.results[0].name == "shelf"
    assert caplog.text.count("terms.txt") == 1


NAMED = """
import sys
from pathlib import Path
from treadle.code import CodeIndex
root, cache, model = map(Path, sys.argv[1:])
with CodeIndex.open(root, cache_dir=cache, static=lambda: model) as index:
    (root / "new.py").write_text("def flyer(wheel):\\n    return wheel.turn()\\n")
    index.refresh()
    assert index.search("flyer").results[0].name == "flyer"
    print("numpy" in sys.modules)
    print(index.search("where is the loom").parts)
    print("numpy" in sys.modules)
"""


def test_a_query_by_name_does_not_load_the_embedding(tmp_path: Path, model: Path) -> None:
    root = tree(tmp_path / "root")
    for name in FILES:
        os.utime(root / name, (1, 1))
    built(root, tmp_path / "cache", model)
    command = [sys.executable, "-I", "-c", NAMED, *map(str, (root, tmp_path / "cache", model))]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["False", "('lexical', 'dense')", "True"]
