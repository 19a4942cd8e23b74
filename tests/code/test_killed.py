"""`kill -9` at any moment leaves an index that the next refresh makes exact."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.code.contents import contents
from treadle.code import CodeIndex

REFRESH = """
import sys
from pathlib import Path
from treadle.code import CodeIndex
from treadle.code.storage import refresh
refresh._BATCH_BYTES = 20_000
refresh._POOL_BYTES = int(sys.argv[3])
refresh._TASK_BYTES = 4_000
with CodeIndex.open(Path(sys.argv[1]), cache_dir=Path(sys.argv[2])) as index:
    print("open", flush=True)
    index.refresh()
"""
IN_WORKERS, ALONE = 0, 1_000_000_000


def change(root: Path, chance: random.Random) -> None:
    """Write, remove and move some of up to 200 files."""
    for number in chance.sample(range(200), 40):
        place = root / f"pkg{number % 7}" / f"m{number}.py"
        place.parent.mkdir(exist_ok=True)
        match chance.choice(["write", "write", "remove", "move"]):
            case "remove":
                place.unlink(missing_ok=True)
            case "move" if place.exists():
                place.rename(place.with_name(f"moved{number}.py"))
            case _:
                word = chance.choice(["spindle", "shuttle", "bobbin"])
                body = f"def {word}_{number}(other):\n    return other.{word}({number})\n\n"
                place.write_text(body * chance.randint(1, 30))


def killed_after(seconds: float, root: Path, cache: Path, pool_bytes: int) -> bool:
    """Run a refresh and end it after a time since it opened the index; whether it was running."""
    command = [sys.executable, "-c", REFRESH, str(root), str(cache), str(pool_bytes)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])
    assert process.stdout is not None
    with process.stdout:
        process.stdout.readline()
        time.sleep(seconds)
        process.kill()  # nothing, where it has ended by itself
        process.wait()
    return process.returncode < 0


def seconds_of_a_build(root: Path, cache: Path) -> float:
    """How long a first build takes here when nobody ends it."""
    with CodeIndex.open(root, cache_dir=cache) as index:
        return index.refresh().seconds


def exact_after_kills(root: Path, folder: Path, seed: int, turns: int) -> int:
    """How often a refresh was really cut short; each time the next one gave a fresh index."""
    chance = random.Random(seed)
    cut_short = 0
    change(root, chance)
    longest = seconds_of_a_build(root, folder / "whole")
    for turn in range(turns):
        change(root, chance)
        cache = folder / ("cache" if turn % 4 else f"first{turn}")  # each fourth a first build
        pool_bytes = chance.choice([IN_WORKERS, ALONE])
        cut_short += killed_after(chance.uniform(0, longest), root, cache, pool_bytes)
        with CodeIndex.open(root, cache_dir=cache) as index:
            index.refresh()
            assert index.status().fresh
        with CodeIndex.open(root, cache_dir=folder / f"anew{turn}") as anew:
            anew.refresh()
        assert contents(root, cache) == contents(root, folder / f"anew{turn}")
    return cut_short


def test_kills_leave_an_index_that_becomes_exact(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    assert exact_after_kills(tmp_path / "tree", tmp_path, 1, 3) >= 1


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_many_kills_leave_an_index_that_becomes_exact(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    assert exact_after_kills(tmp_path / "tree", tmp_path, 2, 60) >= 20
